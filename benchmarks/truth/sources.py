"""Where the stated expectations come from, and the ones that many cases share.

Paths are those of the pytorch/pytorch repository; issues are its own.
"""

from __future__ import annotations

from benchmarks.truth.case import SAME_DEVICE, Expectation, ok, raises

ITERATOR = "aten/src/ATen/TensorIterator.cpp, TensorIteratorBase::compute_types"
ZERO_DIM = "issue 119609 (a 0-dim CPU tensor may join accelerator tensors, nothing else may)"
WRAPPER = "torchgen/dest/register_dispatch_key.py, gen_device_check; aten/src/ATen/core/op_registration/adaption.cpp"
INDEXING = "aten/src/ATen/native/TensorAdvancedIndexing.cpp, make_info"
COPY = "aten/src/ATen/native/Copy.cpp, copy_; docs: Tensor.copy_ (src may be on a different device)"
GENERATOR = "aten/src/ATen/core/Generator.h, check_generator"
NUMPY = "torch/csrc/utils/tensor_numpy.cpp, tensor_to_numpy"
ENGINE = "torch/csrc/autograd/engine.cpp, validate_outputs"
FACTORIES = "docs: torch.device, Creation Ops (device)"
LIKE = "docs: Tensor.new_*, torch.*_like (device of the input unless given)"
BOUNDS = (
    "aten/src/ATen/native/TensorFactories.cpp, linspace and logspace (start.item(), end.item()); "
    "torch/csrc/utils/python_arg_parser.h, PythonArgs::device"
)
NEW_TENSOR = "torch/csrc/utils/tensor_new.cpp"
MOVEMENT = "docs: Tensor.to, Tensor.cuda, Tensor.cpu"
MODULE = "torch/nn/modules/module.py, Module._apply and Module.to"
SERIALIZATION = "torch/serialization.py"
DEFAULT_DEVICE = "torch/utils/_device.py, DeviceContext; docs: torch.set_default_device"
PIN = "aten/src/ATen/native/Memory.cpp, _pin_memory"
PACKED = "torch/nn/utils/rnn.py; aten/src/ATen/native/PackedSequence.cpp"
RNN = "aten/src/ATen/native/RNN.h, check_attributes; issue 15272 (by way of _cudnn_rnn)"
PARALLEL = "torch/nn/parallel/data_parallel.py"
CUDA_API = "torch/cuda/__init__.py"
OPTIMIZER = "torch/optim/optimizer.py, Optimizer._process_value_according_to_param_policy"
SET_GRAD = "torch/csrc/autograd/python_variable.cpp, THPVariable_set_grad"
SET_DATA = "torch/csrc/autograd/variable.cpp, VariableHooks::set_data"

ON_FIRST = ok(r="cuda:0")
ON_SECOND = ok(r="cuda:1")
ON_CPU = ok(r="cpu")


def mixed(source: str = WRAPPER) -> Expectation:
    return raises("RuntimeError", SAME_DEVICE, source=source)


def on(device: str, source: str) -> Expectation:
    return ok(source, r=device)
