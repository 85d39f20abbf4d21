"""What a Module does not know of, what an optimizer refuses, and what is deprecated."""

from __future__ import annotations

from torchdevlint.symptoms import Symptom, Wording

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "module-device",
        "modules",
        "A Module has no `device`; its parameters have, and may be on several.",
        "ask a parameter, `next(model.parameters()).device`, or take the device of an input",
        ("TDL107",),
        (
            Wording(
                r"'(?P<argument>\w+)' object has no attribute 'device'",
                "AttributeError: 'Net' object has no attribute 'device'",
                "",
                "torch/nn/modules/module.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "empty-parameters",
        "modules",
        "The optimizer is given no parameters: those of modules in a list, tuple or dict are not found.",
        "keep the modules in a `torch.nn.ModuleList` or `ModuleDict`",
        ("TDL102",),
        (
            Wording(
                r"optimizer got an empty parameter list",
                "ValueError: optimizer got an empty parameter list",
                "",
                "torch/optim/optimizer.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "child-module",
        "modules",
        "The attribute is a module already, and is replaced by a container that a Module does not look into.",
        "use `torch.nn.ModuleList` or `torch.nn.Sequential`",
        ("TDL102", "TDL103"),
        (
            Wording(
                r"cannot assign '(?P<device>\S+)' as (?:child module|parameter|buffer) '(?P<argument>\w+)'",
                "TypeError: cannot assign 'tuple' as child module 'layer' (torch.nn.Module or None expected)",
                "",
                "torch/nn/modules/module.py",
            ),
        ),
    ),
    Symptom(
        "non-leaf",
        "modules",
        "A tensor that was moved after `requires_grad=True` is a result of the move, and no leaf: it gets no gradient.",
        "make it on its device at once, or move it before `requires_grad_()`",
        ("TDL104", "TDL103"),
        (
            Wording(
                r"can't optimize a non-leaf Tensor",
                "ValueError: can't optimize a non-leaf Tensor",
                "",
                "torch/optim/optimizer.py",
            ),
            Wording(
                r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed",
                "UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
                "attribute won't "
                "be populated during autograd.backward().",
                "",
                "aten/src/ATen/core/TensorBody.h",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "no-gradient",
        "modules",
        "The gradient is None: the tensor was moved after `requires_grad=True`, and what was moved is no leaf.",
        "make it on its device at once, or move it before `requires_grad_()`",
        ("TDL104",),
        (
            Wording(
                r"unsupported operand type\(s\) for [-+*/]=?: '(?:float|NoneType)' and "
                r"'(?:NoneType|float)'|'NoneType' object has no attribute",
                "TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'",
            ),
        ),
        beside=r"\.grad\b",
    ),
    Symptom(
        "lost-self",
        "modules",
        "What was moved is None: an override of `to`, `cuda` or `cpu` does not return the module.",
        "end the override with `return self`",
        ("TDL106",),
        (Wording(r"'NoneType' object is not callable", "TypeError: 'NoneType' object is not callable"),),
        beside=r"\b(?:net|model|module|encoder|decoder|backbone)\w*\(",
    ),
    Symptom(
        "cuda-amp",
        "deprecated",
        "`torch.cuda.amp` is for CUDA alone, and has a successor for all devices.",
        "`torch.amp.autocast(device.type)`, `torch.amp.GradScaler(device.type)`",
        ("TDL504",),
        (
            Wording(
                r"`torch\.(?:cuda|cpu)\.amp\.\w+\(args\.\.\.\)` is deprecated",
                "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. Please use "
                "`torch.amp.autocast('cuda', args...)` "
                "instead.",
                "since 2.4",
                "torch/cuda/amp/autocast_mode.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "default-tensor-type",
        "deprecated",
        "`torch.set_default_tensor_type` sets type and device at once.",
        "`torch.set_default_dtype` and `torch.set_default_device`, or better a `device=` where tensors are made",
        ("TDL505",),
        (
            Wording(
                r"torch\.set_default_tensor_type\(\) is deprecated",
                "UserWarning: torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
                "torch.set_default_dtype() "
                "and torch.set_default_device() as alternatives.",
                "since 2.1",
                "torch/csrc/tensor/python_tensor.cpp",
            ),
        ),
        sure=True,
    ),
)
