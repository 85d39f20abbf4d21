"""What other libraries say of devices, and errors that people take for device errors: tried when nothing else fits."""

from __future__ import annotations

from torchdevlint.symptoms import OTHERS, Symptom, Wording

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "on-the-same-device",
        "devices",
        "A library asks for tensors, or a model and its input, on one device, and was given them on several.",
        "move what stayed behind to where the others are",
        ("TDL005", "TDL003", "TDL004", "TDL001", "TDL014", "TDL101", "TDL102"),
        (
            Wording(
                r"\b(?:must|should|needs?|ha[vs]e?|[Ee]xpect(?:s|ed)?|not)\b.{0,80}\bon the same (?:device|GPU)\b",
                "ValueError: query and key must be on the same device",
            ),
            Wording(
                r"\b(?P<argument>\w+) must be a CUDA tensor",
                "RuntimeError: scores must be a CUDA tensor",
                "",
                "torchvision/csrc/ops/cuda",
            ),
        ),
    ),
    Symptom(
        "out-of-memory",
        OTHERS,
        "This is about memory, not about where tensors are: the accelerator is full.",
        "in several processes, look whether all of them fill GPU 0: a `torch.load` without `map_location`, or "
        "`CUDA_VISIBLE_DEVICES` set too late",
        ("TDL201", "TDL301", "TDL404"),
        (
            Wording(
                r"(?:CUDA|HIP|XPU|MPS backend) out of memory|CUDA error: out of memory|out of memory\. Tried to "
                r"allocate",
                "torch.OutOfMemoryError: CUDA out of memory.",
            ),
            Wording(
                r"CUBLAS_STATUS_ALLOC_FAILED",
                "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`",
            ),
        ),
    ),
    Symptom(
        "dtype",
        OTHERS,
        "This is about types of numbers, not about devices.",
        "convert one side: `x.float()`, `x.long()`, `x.to(other.dtype)`",
        (),
        (
            Wording(
                r"Expected object of scalar type (?P<other>\w+) but got scalar type (?P<device>\w+)",
                "RuntimeError: Expected object of scalar type Float but got scalar type Double for argument #2 'mat2'",
                "until 1.9",
            ),
            Wording(
                r"expected (?:m1 and m2|mat1 and mat2|scalar type|dtype|self and).{0,40}(?:to have the same "
                r"dtype|but found|but got)",
                "RuntimeError: expected m1 and m2 to have the same dtype, but got: float != c10::Half",
            ),
            Wording(
                r"mat1 and mat2 must have the same dtype",
                "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half",
            ),
            Wording(
                r"Input type \([\w.:]+\) and (?:bias|weight) type \([\w.:]+\) should be the same",
                "RuntimeError: Input type (float) and bias type (c10::Half) should be the same",
            ),
            Wording(
                r"Expected tensor for argument #\d+ '\w+' to have (?:one of the following )?scalar types?",
                "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: "
                "Long, Int; but "
                "got torch.cuda.FloatTensor instead (while checking arguments for embedding)",
            ),
            Wording(
                r"not implemented for '(?:Half|Long|Int|Short|Char|BFloat16|Bool|Float|Double|Byte|ComplexFloat)'",
                "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'",
            ),
            Wording(
                r"getCudnnDataTypeFromScalarType\(\) not supported for \w+",
                "RuntimeError: getCudnnDataTypeFromScalarType() not supported for Long",
            ),
        ),
    ),
    Symptom(
        "determinism",
        OTHERS,
        "The program asks for deterministic algorithms, and this operation has none on a GPU. On the CPU it has.",
        "write it with another operation, or ask for `torch.use_deterministic_algorithms(True, warn_only=True)`; for "
        "cuBLAS set CUBLAS_WORKSPACE_CONFIG in the environment",
        (),
        (
            Wording(
                r"does not have a deterministic implementation, but you set|not deterministic because it uses CuBLAS",
                "RuntimeError: median CUDA with indices output does not have a deterministic implementation, but you "
                "set 'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation",
            ),
        ),
    ),
    Symptom(
        "shape",
        OTHERS,
        "This is about shapes, not about devices.",
        "print the shapes of the operands of the line",
        (),
        (
            Wording(
                r"mat1 and mat2 shapes cannot be multiplied|size mismatch|shape '.*' is invalid for input of size"
                r"|must match the size of tensor|Sizes of tensors must match|stack expects each tensor to be equal "
                r"size",
                "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x784 and 128x10)",
            ),
            Wording(
                r"Expected \d+D .* input to|[Gg]iven groups=\d+, weight of size",
                "RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input[8, 1, 224, 224] to have "
                "3 channels, but "
                "got 1 channels instead",
            ),
            Wording(
                r"(?:Expected input batch_size|Target size .* must be the same as input size|Dimension out of range)",
                "ValueError: Expected input batch_size (32) to match target batch_size (64).",
            ),
        ),
    ),
    Symptom(
        "device-assert",
        OTHERS,
        "A kernel found a bad value, most often an index or a label out of range; where it ran is not what is wrong.",
        "run it on the CPU, or with `CUDA_LAUNCH_BLOCKING=1`: then the error names the line and the value",
        (),
        (
            Wording(
                r"device-side assert triggered|an illegal memory access was encountered|misaligned address",
                "RuntimeError: CUDA error: device-side assert triggered",
            ),
            Wording(
                r"CUBLAS_STATUS_(?:EXECUTION_FAILED|NOT_INITIALIZED|INVALID_VALUE)|CUDNN_STATUS_\w+",
                "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
            ),
        ),
    ),
    Symptom(
        "kernel-image",
        OTHERS,
        "This build of PyTorch has no code for this model of GPU.",
        "install a build of PyTorch that is made for it: https://pytorch.org/get-started/locally/",
        (),
        (
            Wording(
                r"no kernel image is available for execution on the device|is not compatible with the current "
                r"PyTorch installation",
                "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            ),
        ),
    ),
    Symptom(
        "in-place",
        OTHERS,
        "This is about gradients: a tensor that the backward pass needs was changed in place.",
        "compute a new tensor instead; `torch.autograd.set_detect_anomaly(True)` names the line",
        (),
        (
            Wording(
                r"one of the variables needed for gradient computation has been modified by an inplace operation",
                "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
                "operation",
            ),
            Wording(
                r"does not require grad and does not have a grad_fn|Can't call numpy\(\) on Tensor that requires grad",
                "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
            ),
        ),
    ),
    Symptom(
        "keys",
        OTHERS,
        "The keys of the checkpoint and of the model differ, and not by the prefix of a wrapper: another architecture.",
        "compare `model.state_dict().keys()` with those of the file",
        (),
        (
            Wording(
                r"Error\(s\) in loading state_dict for",
                "RuntimeError: Error(s) in loading state_dict for ResNet: Missing key(s) in state_dict: "
                '"layer5.0.conv1.weight".',
            ),
        ),
    ),
)
