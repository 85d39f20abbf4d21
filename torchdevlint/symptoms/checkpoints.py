"""Reading what was saved elsewhere, and keys that do not fit."""

from __future__ import annotations

from torchdevlint.symptoms import Symptom, Wording

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "deserialize",
        "checkpoints",
        "A file holds tensors of a device that this machine has not, and `torch.load` brings tensors back to where "
        "they were.",
        "say where the checkpoint is to go: `torch.load(path, map_location=device)`",
        ("TDL201", "TDL310"),
        (
            Wording(
                r"Attempting to deserialize object on (?:a )?(?P<device>\w+) device but torch\.[\w.]+\(\) is False",
                "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
                "False. If you "
                "are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to "
                "map your "
                "storages to the CPU.",
                "",
                "torch/serialization.py",
            ),
            Wording(
                r"Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend",
                "NotImplementedError: Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend",
                "",
                "c10/core/Dispatcher: what `torch.jit.load` says without CUDA",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "deserialize-ordinal",
        "checkpoints",
        "A file holds tensors of a GPU with a greater number than this machine has.",
        "say where the checkpoint is to go: `torch.load(path, map_location=device)`",
        ("TDL201", "TDL502", "TDL310"),
        (
            Wording(
                r"Attempting to deserialize object on (?P<device>\w+) device (?P<position>\d+) but "
                r"torch\.\w+\.device_count\(\) is \d+",
                "RuntimeError: Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1. "
                "Please use "
                "torch.load with map_location to map your storages to an existing device.",
                "",
                "torch/serialization.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "restore-location",
        "checkpoints",
        "A file, or `map_location`, names a device that this PyTorch does not know.",
        'name a device as PyTorch does: "cuda", "cuda:1", "cpu", "mps"',
        ("TDL303", "TDL201"),
        (
            Wording(
                r"don't know how to restore data location of [\w.]+ \(tagged with (?P<device>[^)]*)\)",
                "RuntimeError: don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
                "gpu)",
                "",
                "torch/serialization.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "prefixed-keys",
        "checkpoints",
        "The keys of a checkpoint begin with `module.` or `_orig_mod.`: it was saved from a wrapper (`DataParallel`, "
        "DDP, "
        "`torch.compile`) and is loaded into a model without one, or the other way round.",
        "save the state of the model inside: `model.module.state_dict()`; strip the prefix of a file that is there "
        "already",
        ("TDL202",),
        (
            Wording(
                r"Unexpected key\(s\) in state_dict: \"(?:module|_orig_mod)\.",
                'RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "weight", "bias". '
                'Unexpected key(s) in state_dict: "module.weight", "module.bias".',
                "",
                "torch/nn/modules/module.py",
            ),
            Wording(
                r"Missing key\(s\) in state_dict: \"(?:module|_orig_mod)\.",
                "RuntimeError: Error(s) in loading state_dict for DataParallel: Missing key(s) in state_dict: "
                '"module.conv1.weight". Unexpected key(s) in state_dict: "conv1.weight".',
                "",
                "torch/nn/modules/module.py",
            ),
            Wording(
                r"(?:unexpected key|missing keys in state_dict:|KeyError:) [^\"']{0,4}[\"'](?:module|_orig_mod)\.",
                "KeyError: 'unexpected key \"module.conv1.weight\" in state_dict'",
                "until 0.3",
                "torch/nn/modules/module.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "meta-tensor",
        "checkpoints",
        "The model is on `meta`: it has shapes and no values, so there is nothing that could be moved.",
        "load the weights first, or use `model.to_empty(device=...)` and then load them",
        ("TDL405",),
        (
            Wording(
                r"Cannot copy out of meta tensor; no data!",
                "NotImplementedError: Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() "
                "instead of "
                "torch.nn.Module.to() when moving module from meta to a different device.",
                "",
                "aten/src/ATen/native/Copy.cpp, torch/nn/modules/module.py",
            ),
            Wording(
                r"Tensor on device (?P<device>meta) is not on the expected device (?P<other>\S+?)!",
                "RuntimeError: Tensor on device meta is not on the expected device cuda:0!",
                "",
                "torch/_prims_common/__init__.py",
            ),
        ),
    ),
    Symptom(
        "device-map",
        "checkpoints",
        "The parts of a model were placed by `device_map`, by offloading or by quantisation, and must not be moved "
        "after that.",
        "leave out the move, or load the model without `device_map`",
        ("TDL405",),
        (
            Wording(
                r"[Yy]ou can't move a model that has some modules offloaded to cpu or disk",
                "RuntimeError: You can't move a model that has some modules offloaded to cpu or disk.",
                "",
                "accelerate/big_modeling.py",
            ),
            Wording(
                r"`\.to` is not supported for `\d-bit`|Calling `to\(\)` is not supported for "
                r"`\d-bit`|`\.(?:cuda|to)` is not supported for `",
                "ValueError: `.to` is not supported for `8-bit` bitsandbytes models. Please use the model as it is, "
                "since the model "
                "has already been set to the correct devices and casted to the correct `dtype`.",
                "",
                "transformers/modeling_utils.py",
            ),
        ),
        sure=True,
    ),
)
