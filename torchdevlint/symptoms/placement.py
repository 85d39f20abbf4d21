"""Operands on different devices."""

from __future__ import annotations

from torchdevlint.symptoms import Symptom, Wording

_MIXED = (
    "TDL005", "TDL003", "TDL004", "TDL001", "TDL014", "TDL101", "TDL102", "TDL010", "TDL008", "TDL105", "TDL012",
    "TDL002", "TDL009", "TDL106", "TDL203", "TDL310", "TDL404",
)  # fmt: skip
_KIND = r"torch\.(?:\w+\.)?\w+Tensor|\w+Type"
_DEVICE = r"[a-z]+(?::\d+)?"

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "different-devices",
        "devices",
        "The operands of one operation are on different devices.",
        "move the operand that stayed behind to where the others are, or make it there",
        _MIXED,
        (
            Wording(
                rf"all tensors to be on the same device, but got (?P<argument>\w+) is on (?P<device>{_DEVICE}), "
                rf"different "
                rf"from other tensors on (?P<other>{_DEVICE})(?: \(when checking argument in method "
                rf"(?P<operation>\w+)\))?",
                "RuntimeError: Expected all tensors to be on the same device, but got weight is on cpu, different "
                "from other "
                "tensors on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)",
                "since 2.8",
                "aten/src/ATen/core/op_registration/adaption.cpp",
            ),
            Wording(
                rf"all tensors to be on the same device, but found at least two devices, (?P<other>{_DEVICE}) and "
                rf"(?P<device>{_DEVICE})! ?\(when checking ar(?:gu|ug)ment for argument (?P<argument>\w+) in method "
                rf"(?P<operation>\w+)\)",
                "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
                "and cpu! "
                "(when checking argument for argument mat1 in method wrapper_CUDA_addmm)",
                "until 2.7",
                "aten/src/ATen/core/op_registration/adaption.cpp",
            ),
            Wording(
                rf"all tensors to be on the same device, but found at least two devices, (?P<other>{_DEVICE}) and "
                rf"(?P<device>{_DEVICE})",
                "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
                "and cpu!",
                "",
                "aten/src/ATen/TensorIterator.cpp",
            ),
            Wording(
                r"all tensors to be on the same device\. addmm:? expected '(?P<argument>\w+)' to be a? ?CPU tensor, "
                r"but got "
                r"tensor on (?P<device>\w+)",
                "RuntimeError: Expected all tensors to be on the same device. addmm: expected 'mat1' to be a CPU "
                "tensor, but got "
                "tensor on cuda:0",
                "",
                "aten/src/ATen/native/sparse/SparseTensorMath.cpp",
            ),
            Wording(
                rf"tensors to be on the same device, but found tensors on (?P<other>{_DEVICE}) and "
                rf"(?P<device>{_DEVICE})",
                "RuntimeError: Expected tensors to be on the same device, but found tensors on cuda:0 and cpu",
            ),
            Wording(
                r"[Tt]ensor for (?:argument #\d+ )?'\w+' to have the same device as tensor for (?:argument "
                r"#(?P<position>\d+) )?'(?P<argument>\w+)'(?:.*\(while checking arguments for (?P<operation>\w+)\))?",
                "RuntimeError: Expected tensor for argument #1 'input' to have the same device as tensor for "
                "argument #2 'weight'; "
                "but device 1 does not equal 0 (while checking arguments for cudnn_convolution)",
                "",
                "aten/src/ATen/TensorUtils.cpp",
            ),
            Wording(
                r"Tensor for (?:argument #(?P<position>\d+) )?'(?P<argument>\w+)' is on (?P<device>\w+), but "
                r"expected (?:it|them) "
                r"to be on (?P<other>\w+)(?: \(while checking arguments for (?P<operation>\w+)\))?",
                "RuntimeError: Tensor for argument #2 'mat1' is on CPU, but expected it to be on GPU (while checking "
                "arguments for "
                "addmm)",
                "1.x",
                "aten/src/ATen/TensorUtils.cpp",
            ),
            Wording(
                r"Expected object of device type (?P<other>\w+) but got device type (?P<device>\w+) for argument "
                r"#(?P<position>\d+) '(?P<argument>\w+)'(?: in call to (?P<operation>\w+))?",
                "RuntimeError: Expected object of device type cuda but got device type cpu for argument #1 'self' in "
                "call to "
                "_th_addmm",
                "1.3 to 1.6",
                "aten/src/ATen/Utils.h",
            ),
            Wording(
                r"Expected object of backend (?P<other>\w+) but got backend (?P<device>\w+) for (?:sequence element "
                r"\d+ in "
                r"sequence argument at position|argument) #(?P<position>\d+) '(?P<argument>\w+)'",
                "RuntimeError: Expected object of backend CUDA but got backend CPU for argument #4 'mat1'",
                "1.0 to 1.2",
                "aten/src/ATen/Utils.h",
            ),
            Wording(
                rf"Expected object of type (?P<other>{_KIND}) but found type (?P<device>{_KIND}) for argument "
                r"#(?P<position>\d+) '(?P<argument>\w+)'",
                "RuntimeError: Expected object of type torch.cuda.FloatTensor but found type torch.FloatTensor for "
                "argument #2 "
                "'weight'",
                "0.4",
                "aten/src/ATen/Utils.h",
            ),
            Wording(
                r"[Ee]xpected type (?P<other>torch\.(?:cuda\.)?\w+Tensor) but got "
                r"(?P<device>torch\.(?:cuda\.)?\w+Tensor)",
                "RuntimeError: expected type torch.cuda.FloatTensor but got torch.FloatTensor",
                "0.4 to 1.1",
            ),
            Wording(
                rf"[Ee]xpected (?:both inputs to be on same device|device (?P<other>{_DEVICE}) (?:and dtype \w+ "
                rf")?but got device "
                rf"(?P<device>{_DEVICE}))",
                "RuntimeError: expected device cuda:0 and dtype Float but got device cpu and dtype Float",
                "1.2 to 1.4",
                "aten/src/ATen/native/TensorIterator.cpp",
            ),
            Wording(
                r"(?P<argument>Input|Output|Indices|Input, output and indices)(?:, output and indices)? must be on "
                r"the current "
                r"device",
                "RuntimeError: Input, output and indices must be on the current device",
                "1.x",
                "aten/src/ATen/native/cuda/Indexing.cu",
            ),
            Wording(
                r"arguments are located on different GPUs|tensors are on different GPUs",
                "RuntimeError: arguments are located on different GPUs at "
                "/pytorch/aten/src/THC/generic/THCTensorIndex.cu:400",
                "1.x",
                "aten/src/THC",
            ),
            Wording(
                r"[Ee]xpected (?P<argument>self and mask|inputs) to be on (?:the )?same device"
                rf"(?:, but got \w+ on (?P<other>{_DEVICE}) and \w+ on (?P<device>{_DEVICE}))?",
                "RuntimeError: expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
                "",
                "aten/src/ATen/native/cuda/Indexing.cu",
            ),
            Wording(
                r"\b(?P<argument>\w+), \w+ and \w+ expected to be in the same device",
                "RuntimeError: index_add_(): self, index and source expected to be in the same device, but got "
                "(self) cuda:0, "
                "(index) cpu, and (source) cuda:0",
                "",
                "aten/src/ATen/native/TensorAdvancedIndexing.cpp",
            ),
            Wording(
                r"Expected query, key, and value to have the same device type, but got query\.device: (?P<other>\S+) "
                r"key\.device: (?:(?P=other) and value\.device: )?(?P<device>\S+)",
                "RuntimeError: Expected query, key, and value to have the same device type, but got query.device: "
                "cuda:0 "
                "key.device: cpu and value.device: cpu instead.",
                "since 2.0",
                "aten/src/ATen/native/transformers/attention.cpp",
            ),
            Wording(
                r"\b(?P<argument>\w+) and input tensors to be on the same device, but got",
                "RuntimeError: Expected boundaries and input tensors to be on the same device, but got cpu and cuda:0",
                "",
                "aten/src/ATen/native",
            ),
            Wording(
                r"Expected tensor to have (?P<other>[\w:]+) Device(?:Type)?, but got tensor with (?P<device>[\w:]+) "
                r"Device(?:.*\(while checking arguments for (?:torch\.)?(?P<operation>\w+)\(\):?\))?",
                "RuntimeError: Expected tensor to have cuda DeviceType, but got tensor with cpu DeviceType (while "
                "checking arguments for inner())",
                "",
                "aten/src/ATen/TensorUtils.cpp",
            ),
            Wording(
                r"expected device '(?P<other>[^']+)' but got '(?P<device>[^']+)' for (?P<argument>\w+) output",
                "RuntimeError: expected device 'cuda:0' but got 'cpu' for values output",
                "",
                "aten/src/ATen/native/ReduceOps.cpp",
            ),
            Wording(
                r"Expected b and A to be on the same device, but found b on (?P<device>\S+) and A on "
                r"(?P<other>[a-z0-9:]+)",
                "RuntimeError: torch.linalg.solve: Expected b and A to be on the same device, but found b on cpu and "
                "A on cuda:0 "
                "instead.",
                "",
                "aten/src/ATen/native/LinearAlgebraUtils.h",
            ),
            Wording(
                rf"[Ee]xpected input and (?P<argument>\w+) to be on same device, but input is on "
                rf"(?P<other>{_DEVICE}) and "
                rf"\w+ is on (?P<device>{_DEVICE})",
                "RuntimeError: grid_sampler(): expected input and grid to be on same device, but input is on cuda:0 "
                "and "
                "grid is on cpu",
                "",
                "aten/src/ATen/native/GridSamplerUtils.h",
            ),
            Wording(
                r"(?P<operation>meshgrid) expects all tensors to have the same device",
                "RuntimeError: meshgrid expects all tensors to have the same device",
                "",
                "aten/src/ATen/native/TensorShape.cpp",
            ),
            Wording(
                r"Found two parameters on different devices",
                "TypeError: Found two parameters on different devices, this is currently not supported.",
                "",
                "torch/nn/utils/convert_parameters.py",
            ),
            Wording(
                r"Attempted to set the storage of a tensor on device \"(?P<other>[^\"]+)\" to a storage on different "
                r"device "
                r"\"(?P<device>[^\"]+)\"",
                'RuntimeError: Attempted to set the storage of a tensor on device "cuda:0" to a storage on different '
                "device "
                '"cpu". This is no longer allowed; the devices must match',
                "",
                "aten/src/ATen/native/TensorShape.cpp",
            ),
            Wording(
                rf"[Ee]xpected (?P<other>{_KIND}) \(got (?P<device>{_KIND})\)",
                "TypeError: expected torch.FloatTensor (got torch.cuda.FloatTensor)",
                "",
                "torch/csrc/utils/tensor_new.cpp",
            ),
            Wording(
                rf"[Ee]xpected TensorOptions\([^)]*device=(?P<other>{_DEVICE}),.*\(got TensorOptions\([^)]*"
                rf"device=(?P<device>(?!(?P=other)\b){_DEVICE}),",
                "TypeError: expected TensorOptions(dtype=float, device=cpu, layout=Strided, requires_grad=false "
                "(default)) (got TensorOptions(dtype=float, device=cuda:0, layout=Strided))",
                "",
                "torch/csrc/utils/tensor_new.cpp",
            ),
            Wording(
                r"(?P<operation>add): expected '(?P<argument>\w+)' to be (?:a )?(?P<other>CUDA)(?: tensor)?, but got "
                r"(?:a )?(?P<device>\w+)",
                "RuntimeError: add: expected 'self' to be a CUDA tensor, but got a CPU tensor",
                "",
                "aten/src/ATen/native/sparse/cuda/SparseCUDATensorMath.cu",
            ),
            Wording(
                r"Trying to pass too many CPU scalars to non-CPU kernel",
                "RuntimeError: Trying to pass too many CPU scalars to non-CPU kernel!",
                "",
                "aten/src/ATen/TensorIterator.cpp",
            ),
            Wording(
                r"All input tensors must be on the same device\. Received (?P<other>\S+) and "
                r"(?P<device>[a-z]+(?::\d+)?)",
                "RuntimeError: torch.cat(): All input tensors must be on the same device. Received cuda:0 and cpu",
                "1.x",
                "aten/src/ATen/native/cuda/Shape.cu",
            ),
            Wording(
                rf"Tensor on device (?P<device>(?!meta){_DEVICE}) is not on the expected device (?P<other>{_DEVICE})",
                "RuntimeError: Tensor on device cpu is not on the expected device cuda:0!",
                "",
                "torch/_prims_common/__init__.py",
            ),
        ),
    ),
    Symptom(
        "input-and-weight",
        "devices",
        "A convolution's input and its weights are on different devices: either the batch or the module was not moved.",
        "move the batch and the module to one device",
        ("TDL005", "TDL102", "TDL105", "TDL003", "TDL001", "TDL012", "TDL310"),
        (
            Wording(
                rf"(?P<argument>Input) type \((?P<device>{_KIND})\) and weight type \((?P<other>{_KIND})\) should be "
                rf"the same or "
                rf"input should be a "
                r"MKLDNN tensor",
                "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the "
                "same or "
                "input should be a MKLDNN tensor and weight is a dense tensor",
                "",
                "aten/src/ATen/native/Convolution.cpp",
            ),
            Wording(
                rf"(?P<argument>Input) type \((?P<device>{_KIND})\) and weight type \((?P<other>{_KIND})\) should be "
                rf"the same",
                "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the "
                "same",
                "",
                "aten/src/ATen/native/Convolution.cpp",
            ),
            Wording(
                rf"Input type \((?P<other>{_KIND})\) and (?P<argument>bias) type \((?P<device>{_KIND})\) should be "
                rf"the same",
                "RuntimeError: Input type (torch.cuda.FloatTensor) and bias type (torch.FloatTensor) should be the "
                "same",
                "",
                "aten/src/ATen/native/Convolution.cpp",
            ),
        ),
    ),
    Symptom(
        "hidden-state",
        "devices",
        "The state that a recurrent network is started with, or one of its parameters, is not where its input is.",
        "make the state where the input is: `torch.zeros(..., device=x.device)` or `x.new_zeros(...)`",
        ("TDL003", "TDL101", "TDL014", "TDL005", "TDL102"),
        (
            Wording(
                rf"Input and (?P<argument>hidden|parameter) tensors are not at the same device, found input tensor at "
                rf"(?P<other>{_DEVICE}) and (?:hidden|parameter) tensor at (?P<device>{_DEVICE})",
                "RuntimeError: Input and hidden tensors are not at the same device, found input tensor at cuda:0 and "
                "hidden tensor "
                "at cpu",
                "",
                "aten/src/ATen/native/RNN.cpp",
            ),
            Wording(
                r"Input and (?P<argument>hidden|parameter) tensors are not at the same device",
                "RuntimeError: Input and hidden tensors are not at the same device",
                "",
                "aten/src/ATen/native/RNN.cpp",
            ),
        ),
    ),
    Symptom(
        "cpu-table",
        "devices",
        "A tensor of the CPU is indexed with one of an accelerator; the other way round is allowed.",
        "bring the table to the device of the indices, as a buffer if it belongs to a module",
        ("TDL007", "TDL101", "TDL014", "TDL003"),
        (
            Wording(
                r"indices should be (?:either )?on (?:either )?(?:cpu|CPU) or on the same device as the indexed tensor"
                r"(?: \((?P<device>\w+)\))?",
                "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
                "since 1.13",
                "aten/src/ATen/native/IndexingUtils.h",
            ),
        ),
        sure=True,
    ),
)
