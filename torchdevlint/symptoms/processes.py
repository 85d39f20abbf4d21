"""Processes that share a GPU, and which GPUs a process sees."""

from __future__ import annotations

from torchdevlint.symptoms import Symptom, Wording

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "forked",
        "processes",
        "CUDA was used before this process was forked, often in a worker of a `DataLoader`; a fork cannot use it "
        "again.",
        "start the processes with `spawn`, or use the accelerator only after they were forked",
        ("TDL308", "TDL307"),
        (
            Wording(
                r"Cannot re-initialize (?P<device>\w+) in forked subprocess",
                "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
                "must use the "
                "'spawn' start method",
                "",
                "torch/cuda/__init__.py",
            ),
            Wording(
                r"(?:CUDA|cuda runtime) error(?: \(3\))? ?: initialization error",
                "RuntimeError: CUDA error: initialization error",
                "",
                "what a tensor of its parent gives a forked process",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "ordinal",
        "processes",
        "A GPU is named that this process does not have: its number is too great, or fewer GPUs are visible than "
        "there are.",
        "use a device that is there, or `cuda` without a number for the current one",
        ("TDL502", "TDL404", "TDL301"),
        (
            Wording(
                r"invalid device ordinal",
                "torch.AcceleratorError: CUDA error: invalid device ordinal",
                "",
                "what `cudaSetDevice` answers",
            ),
            Wording(
                r"device >= 0 && device < num_gpus|device_index >= 0 && device_index < num_gpus",
                "RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at "
                '"../aten/src/ATen/cuda/CUDAContext.cpp":50, '
                "please report a bug to PyTorch.",
                "",
                "aten/src/ATen/cuda/CUDAContext.cpp",
            ),
            Wording(
                r"[Dd]evice(?:[ _]index)? is (?:out of range|invalid)|out of index range \[0, \d+\)",
                "RuntimeError: The device index is out of range. It must be in [0, 1), but got 1.",
                "",
                "c10/xpu/XPUFunctions.h",
            ),
            Wording(
                r"Invalid device id",
                "AssertionError: Invalid device id",
                "",
                "torch/cuda/__init__.py: `get_device_properties`, also by way of `DataParallel`",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "visible-devices",
        "processes",
        "`CUDA_VISIBLE_DEVICES` is not set as the operating system wants it.",
        'its value is text: `os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"`',
        ("TDL302",),
        (
            Wording(r"str expected, not (?P<device>int|list|tuple|NoneType)", "TypeError: str expected, not int"),
            Wording(
                r"setdefault\(\) takes (?:from 2 to )?3 positional arguments but \d were given",
                "TypeError: _Environ.setdefault() takes 3 positional arguments but 4 were given",
            ),
        ),
        beside=r"environ|CUDA_VISIBLE|putenv",
    ),
    Symptom(
        "duplicate-gpu",
        "processes",
        "Two processes of one group use the same GPU: each of them takes `cuda`, which is GPU 0 unless it is told "
        "otherwise.",
        "give each process its own: `torch.cuda.set_device(local_rank)` before anything goes to `cuda`",
        ("TDL404",),
        (
            Wording(
                r"Duplicate GPU detected ?: rank (?P<position>\d+) and rank \d+ both on CUDA device (?P<device>\w+)",
                "torch.distributed.DistBackendError: NCCL error in: "
                "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1331, "
                "invalid usage, NCCL version 2.18.1 Duplicate GPU detected : rank 0 and rank 1 both on CUDA device "
                "50000",
                "",
                "NCCL: src/init.cc",
            ),
            Wording(
                r"Duplicate GPU detected",
                "ncclInvalidUsage: Duplicate GPU detected",
                "",
                "NCCL: src/init.cc",
            ),
            Wording(
                r"ncclInvalidUsage: This usually reflects invalid usage of NCCL library \(such as too many async "
                r"ops, too many "
                r"collectives at once, mixing streams in a group",
                "RuntimeError: NCCL error in: ../torch/lib/c10d/ProcessGroupNCCL.cpp:911, invalid usage, NCCL "
                "version 2.7.8 "
                "ncclInvalidUsage: This usually reflects invalid usage of NCCL library (such as too many async ops, "
                "too many "
                "collectives at once, mixing streams in a group, etc).",
                "until 1.12",
                "torch/csrc/distributed/c10d/NCCLUtils.cpp",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "group-bound-to-device",
        "processes",
        "The process group was bound to one GPU (`init_process_group(.., device_id=..)`), and a tensor on another one "
        "is sent.",
        "make the device of `device_id` the current one with `torch.cuda.set_device(local_rank)`, and move to that",
        ("TDL404",),
        (
            Wording(
                r"Attempt to perform collective on tensor not on device passed to init_process_group",
                "RuntimeError: Attempt to perform collective on tensor not on device passed to init_process_group",
                "",
                "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, initNCCLComm",
            ),
        ),
    ),
    Symptom(
        "collective-device",
        "processes",
        "A tensor of the CPU is sent by a back-end that knows GPUs only (NCCL).",
        "move the tensor to the GPU of this process before it is sent, or make the group with gloo as well",
        ("TDL404",),
        (
            Wording(
                r"No backend type associated with device type (?P<device>\w+)",
                "RuntimeError: No backend type associated with device type cpu",
                "since 2.0",
                "torch/csrc/distributed/c10d/ProcessGroup.hpp",
            ),
            Wording(
                r"Tensors must be CUDA and dense",
                "RuntimeError: Tensors must be CUDA and dense",
                "",
                "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "ddp-devices",
        "several",
        "DDP is given `device_ids` for a module that is on the CPU, or on several devices.",
        "move the module to the GPU of this process before it is wrapped",
        ("TDL404", "TDL405"),
        (
            Wording(
                r"DistributedDataParallel(?:'s)? device_ids and output_device arguments only work with single-device",
                "ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids [0], output_device 0, "
                "and module "
                "parameters {device(type='cpu')}.",
                "",
                "torch/nn/parallel/distributed.py",
            ),
            Wording(
                r"DistributedDataParallel's input module must be on the same type of devices",
                "ValueError: DistributedDataParallel's input module must be on the same type of devices, but input "
                "module "
                "parameters locate in {'cuda', 'cpu'}.",
                "",
                "torch/nn/parallel/distributed.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "data-parallel-device",
        "several",
        "`DataParallel` wants the module on the first of its `device_ids`, which is GPU 0 unless it is told otherwise.",
        "move the module to the first of `device_ids` before it is wrapped",
        ("TDL401",),
        (
            Wording(
                r"module must have its parameters and buffers on device (?P<other>\S+) \(device_ids\[0\]\) but found "
                r"one of them "
                r"on device: (?P<device>\w+(?::\d+)?)",
                "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but "
                "found one of them on "
                "device: cuda:1",
                "",
                "torch/nn/parallel/data_parallel.py",
            ),
            Wording(
                r"[Aa]ll tensors must be on devices\[0\]",
                "RuntimeError: all tensors must be on devices[0]",
                "",
                "torch/csrc/cuda/comm.cpp",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "data-parallel-replica",
        "several",
        "The `forward` of a replica of `DataParallel` failed: replicas have no parameters of their own, and are on "
        "other GPUs.",
        "take devices from the inputs (`x.device`), and keep nothing in `self` that `forward` writes",
        ("TDL402", "TDL406", "TDL012"),
        (
            Wording(
                r"Caught (?P<operation>\w+) in replica (?P<position>\d+) on device (?P<device>\d+)",
                "StopIteration: Caught StopIteration in replica 0 on device 0.",
                "",
                "torch/_utils.py",
            ),
        ),
    ),
    Symptom(
        "data-parallel-scalar",
        "several",
        "`DataParallel` gathers one number of each GPU into a vector, and a loss has to be one number.",
        "`DataParallel` gives a vector with one number for each GPU: reduce it first, `loss.mean()`",
        ("TDL403",),
        (
            Wording(
                r"grad can be implicitly created only for scalar outputs",
                "RuntimeError: grad can be implicitly created only for scalar outputs",
                "",
                "torch/autograd/__init__.py",
            ),
            Wording(
                r"a Tensor with (?P<position>\d+) elements cannot be converted to Scalar",
                "RuntimeError: a Tensor with 2 elements cannot be converted to Scalar",
                "",
                "aten/src/ATen/native/Scalar.cpp",
            ),
            Wording(
                r"only one element tensors can be converted to Python scalars",
                "ValueError: only one element tensors can be converted to Python scalars",
                "",
                "torch/csrc/autograd/python_variable_methods",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "wrapper-attribute",
        "several",
        "The attribute belongs to the model inside of the wrapper.",
        "go through `.module`: `model.module.name`",
        ("TDL406", "TDL107", "TDL402"),
        (
            Wording(
                r"'(?:DataParallel|DistributedDataParallel|DDP)' object has no attribute '(?P<argument>\w+)'",
                "AttributeError: 'DataParallel' object has no attribute 'names'",
                "",
                "torch/nn/modules/module.py",
            ),
        ),
        sure=True,
    ),
)
