"""Operations with a demand of their own, and tensors of an accelerator where the CPU is wanted."""

from __future__ import annotations

from torchdevlint.symptoms import Symptom, Wording

_DEVICE = r"[a-z]+(?::\d+)?"

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "metric-device",
        "devices",
        "A metric of torchmetrics keeps its state where it was made, and is given tensors of another device.",
        "move the metric: `metric = metric.to(device)`, or make it in `__init__` of the module that is moved",
        ("TDL010",),
        (
            Wording(
                r"Encountered different devices in metric calculation",
                "RuntimeError: Encountered different devices in metric calculation (see stacktrace for details). "
                "This could be due "
                "to the metric class not being on the same device as input. Instead of "
                "`metric=MulticlassAccuracy(...)` try to do "
                "`metric=MulticlassAccuracy(...).to(device)` where device corresponds to the device of the input.",
                "",
                "torchmetrics/metric.py",
            ),
        ),
    ),
    Symptom(
        "gradient-device",
        "devices",
        "In the backward pass a gradient is not where its tensor is: something between them was moved or made "
        "elsewhere.",
        "look for the operation of the forward pass that mixes devices, often a custom `autograd.Function` or a "
        "0-dim tensor",
        ("TDL014", "TDL003", "TDL101", "TDL004"),
        (
            Wording(
                rf"invalid gradient at index (?P<position>\d+) - expected device (?P<other>{_DEVICE}) but got "
                rf"(?P<device>{_DEVICE})",
                "RuntimeError: Function MulBackward0 returned an invalid gradient at index 0 - expected device "
                "cuda:0 but got cpu",
                "",
                "torch/csrc/autograd/engine.cpp",
            ),
            Wording(
                r"hook '[^']*' has changed the type of value "
                r"\(was torch\.(?:cuda\.\w+ got torch|\w+ got torch\.cuda)\.\w+",
                "RuntimeError: hook 'clip' has changed the type of value (was torch.cuda.FloatTensor got "
                "torch.FloatTensor)",
                "",
                "torch/csrc/autograd/custom_function.cpp",
            ),
            Wording(
                r"attempting to assign a gradient with device type '(?P<device>\w+)' to a tensor with device type "
                r"'(?P<other>\w+)'",
                "RuntimeError: attempting to assign a gradient with device type 'cpu' to a tensor with device type "
                "'cuda'. Please ensure that the gradient and the tensor are on the same device",
                "",
                "aten/src/ATen/core/TensorBase.cpp",
            ),
            Wording(
                r"attempting to assign a gradient (?:located|to a tensor located) on device with index",
                "RuntimeError: attempting to assign a gradient located on device with index 'cuda:1' to a tensor "
                "located "
                "on device with index 'cuda:0'. Please ensure that the gradient and the tensor are on the same device",
                "",
                "aten/src/ATen/core/TensorBase.cpp",
            ),
        ),
    ),
    Symptom(
        "generator-device",
        "devices",
        "Random numbers for one device are drawn with a generator of another, or a sampler's with one of the CPU.",
        "give the sampler or the loader a generator of the device it asks for: `generator=torch.Generator(device)`",
        ("TDL306", "TDL312", "TDL505"),
        (
            Wording(
                r"Expected a '(?P<other>\w+):?\d*' (?:device type for generator|generator device) but found "
                r"'(?P<device>\w+)",
                "RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'",
                "since 1.9",
                "aten/src/ATen/core/Generator.h",
            ),
            Wording(
                r"Cannot generate a (?P<other>\w+) tensor from a generator of type (?P<device>\w+)",
                "ValueError: Cannot generate a cpu tensor from a generator of type cuda.",
                "",
                "diffusers/utils/torch_utils.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "fused-optimizer",
        "devices",
        "The state of an optimizer is not where its parameters are: it was loaded, or made, before the model was "
        "moved.",
        "move the model first; then make the optimizer, or load its state",
        ("TDL203",),
        (
            Wording(
                r"Tensors of the same index must be on the same device and the same dtype|Expected all "
                r"tensors.*exp_avg",
                "RuntimeError: Tensors of the same index must be on the same device and the same dtype except `step` "
                "tensors that "
                "can be CPU and float32/64",
                "",
                "torch/utils/_foreach_utils.py",
            ),
            Wording(
                r"[Ff]used=True` requires all the params to be (?:CUDA|floating)",
                "RuntimeError: `fused=True` requires all the params to be floating point Tensors of supported "
                "devices: ['cuda', "
                "'xpu', 'privateuseone'].",
                "",
                "torch/optim/adam.py",
            ),
            Wording(
                r"If capturable=False, state_steps should not be (?:CUDA|on)",
                "AssertionError: If capturable=False, state_steps should not be CUDA tensors.",
                "1.12.0",
                "torch/optim/adam.py",
            ),
        ),
    ),
    Symptom(
        "out-device",
        "devices",
        "The tensor given as `out=`, or written into, is on another device than the operands.",
        "make the output where the operands are",
        ("TDL004", "TDL008", "TDL003", "TDL014"),
        (
            Wording(
                rf"Expected (?P<argument>out) tensor to have device (?P<other>{_DEVICE}), but got "
                rf"(?P<device>{_DEVICE}) instead",
                "RuntimeError: Expected out tensor to have device cuda:0, but got cpu instead",
                "",
                "aten/src/ATen/native/Resize.cpp",
            ),
            Wording(
                rf"expected device (?P<other>{_DEVICE}) but found (?P<device>{_DEVICE})",
                "RuntimeError: expected device cuda:0 but found cpu",
                "",
                "aten/src/ATen/native/ReduceOps.cpp",
            ),
            Wording(
                rf"expected out tensor to be on device (?P<other>{_DEVICE}) but got (?P<device>{_DEVICE})",
                "RuntimeError: multi_dot(): expected out tensor to be on device cuda:0 but got cpu",
                "",
                "aten/src/ATen/native/LinearAlgebra.cpp",
            ),
            Wording(
                rf"device type (?P<other>{_DEVICE}) does not match device type of out parameter "
                rf"\((?P<device>{_DEVICE})",
                "RuntimeError: device type cpu does not match device type of out parameter (cuda)",
                "",
                "torch/csrc/utils/python_arg_parser.h",
            ),
            Wording(
                r"Expected self\.device\(\) == out\.device\(\) to be true, but got false",
                "RuntimeError: Expected self.device() == out.device() to be true, but got false. (Could this error "
                "message be improved? If so, please report an enhancement request to PyTorch.)",
                "",
                "aten/src/ATen/native",
            ),
        ),
    ),
    Symptom(
        "scalar-device",
        "devices",
        "A tensor of one element is wanted on the CPU here, and is on an accelerator, or the other way round.",
        "bring it where it is wanted, or use a number: `float(x)`, `x.item()`",
        ("TDL008", "TDL004", "TDL003", "TDL014"),
        (
            Wording(
                r"argument (?P<position>\d+): expected a (?P<other>CUDA|XPU) device but found (?P<device>\w+)",
                "RuntimeError: iter.device(arg).is_cuda() INTERNAL ASSERT FAILED at "
                '"/pytorch/aten/src/ATen/native/cuda/Loops.cuh":109, please report a bug to PyTorch. argument 2: '
                "expected a CUDA device but found cpu",
                "",
                "a tensor of no dimensions beside those of an accelerator, where the kernel takes none: "
                "aten/src/ATen/native/cuda/Loops.cuh",
            ),
            Wording(
                rf"scalar tensor (?:to be|be) (?:to be )?on (?P<other>{_DEVICE}) but is on (?P<device>{_DEVICE})"
                rf"|scalars to be on CPU, got (?P<argument>\w+)",
                "RuntimeError: Expected scalars to be on CPU, got cuda:0 instead.",
                "",
                "aten/src/ATen/native",
            ),
            Wording(
                r"CPU Scalar support for (?P<argument>\w+) argument is not supported when calling (?P<operation>\w+)",
                "RuntimeError: CPU Scalar support for tensor1 argument is not supported when calling addcmul on CUDA "
                "tensors. However, CPU Scalar support for tensor2 is supported, please swap your tensor1 and tensor2 "
                "terms.",
                "",
                "aten/src/ATen/native/cuda/PointwiseOpsKernel.cu",
            ),
        ),
    ),
    Symptom(
        "to-numpy",
        "host",
        "NumPy, or a library that works through it, is given a tensor of an accelerator; it reads memory of the CPU "
        "only.",
        "bring the tensor to the CPU first: `.cpu()`, with `.detach()` before it where gradients are recorded",
        ("TDL006", "TDL001"),
        (
            Wording(
                r"can't convert (?P<device>\S+) device type tensor to numpy",
                "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                "host memory "
                "first.",
                "since 1.6",
                "torch/csrc/utils/tensor_numpy.cpp",
            ),
            Wording(
                r"Unsupported device in DLTensor",
                "RuntimeError: Unsupported device in DLTensor.",
                "",
                "numpy/_core/src/multiarray/dlpack.c",
            ),
            Wording(
                r"can't convert (?P<device>CUDA|MPS|XPU) tensor to numpy",
                "TypeError: can't convert CUDA tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                "first.",
                "until 1.5",
                "torch/csrc/utils/tensor_numpy.cpp",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "split-indices",
        "host",
        "The places at which `tensor_split` divides are read on the CPU, and are on an accelerator.",
        "give the places as a list or on the CPU: `indices.cpu()`",
        (),
        (
            Wording(
                r"tensor_split expected (?P<argument>\w+) to be on (?P<other>cpu), but it's on (?P<device>[a-z:0-9]+)",
                "RuntimeError: tensor_split expected tensor_indices_or_sections to be on cpu, but it's on cuda:0",
                "since 1.8",
                "aten/src/ATen/native/TensorShape.cpp",
            ),
        ),
    ),
    Symptom(
        "packed-lengths",
        "host",
        "The lengths for `pack_padded_sequence` have to be on the CPU, and are on an accelerator.",
        "give the lengths as a list or on the CPU: `lengths.cpu()`",
        ("TDL013",),
        (
            Wording(
                r"'lengths' argument should be a 1D CPU int64 tensor, but got \d+D (?P<device>\S+)",
                "RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
                "since 1.7",
                "aten/src/ATen/native/PackedSequence.cpp",
            ),
            Wording(
                r"batch_sizes should always be on CPU",
                "ValueError: batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                "manually.",
                "",
                "torch/nn/utils/rnn.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "pinning",
        "host",
        "Only memory of the CPU can be pinned, and this tensor is on an accelerator already.",
        "pin only what is on the CPU: leave the batch there until it comes out of the loader",
        ("TDL309",),
        (
            Wording(
                r"cannot pin '(?P<device>[\w.]+)' only dense CPU tensors can be pinned",
                "RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
                "",
                "aten/src/ATen/native/Memory.cpp",
            ),
            Wording(
                r"Only dense CPU tensors can be pinned",
                "RuntimeError: Only dense CPU tensors can be pinned",
                "",
                "torch/csrc/utils/tensor_new.cpp",
            ),
        ),
        sure=True,
    ),
)
