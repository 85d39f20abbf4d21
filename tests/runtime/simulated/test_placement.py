"""Where tensors are said to be: creation, movement, views, what autograd gives, what comes from outside."""

from __future__ import annotations

import copy
import io
import os
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.data import DataLoader, random_split

from tests.conftest import needs_fork
from torchdevlint.runtime.record.recorder import Recorder, story_of
from torchdevlint.runtime.simulated import simulate
from torchdevlint.runtime.simulated.errors import NotSimulated
from torchdevlint.runtime.simulated.tensors import composites
from torchdevlint.runtime.simulated.tensors.claims import claim_of

pytestmark = pytest.mark.usefixtures("machine")

CPU, FIRST, SECOND = torch.device("cpu"), torch.device("cuda:0"), torch.device("cuda:1")


def on(device: str) -> torch.Tensor:
    return torch.ones(2, 3, device=device)


def saved(value: Any) -> io.BytesIO:
    stream = io.BytesIO()
    torch.save(value, stream)
    stream.seek(0)
    return stream


MADE: dict[str, tuple[Callable[[], torch.Tensor], torch.device]] = {
    "zeros": (lambda: torch.zeros(2, device="cuda"), FIRST),
    "by number": (lambda: torch.rand(2, device=1), SECOND),
    "by torch.device": (lambda: torch.full((2,), 1.0, device=torch.device("cuda", 1)), SECOND),
    "default": (lambda: torch.zeros(2), CPU),
    "tensor": (lambda: torch.tensor([1, 2], device="cuda:1"), SECOND),
    "tensor of a tensor": (lambda: torch.tensor(on("cuda:1")), SECOND),
    "tensor of scalars": (lambda: torch.tensor([on("cuda")[0, 0], on("cuda")[0, 1]]), CPU),
    "as_tensor moves": (lambda: torch.as_tensor(np.zeros(2), device="cuda"), FIRST),
    "as_tensor keeps": (lambda: torch.as_tensor(on("cuda:1")), SECOND),
    "asarray": (lambda: torch.asarray([1.0], device="cuda"), FIRST),
    "from_numpy": (lambda: torch.from_numpy(np.zeros(2)), CPU),
    "arange": (lambda: torch.arange(3, device="cuda"), FIRST),
    "zeros_like": (lambda: torch.zeros_like(on("cuda:1")), SECOND),
    "zeros_like elsewhere": (lambda: torch.zeros_like(on("cuda:1"), device="cpu"), CPU),
    "new_zeros": (lambda: on("cuda:1").new_zeros(2), SECOND),
    "new_tensor": (lambda: on("cuda:1").new_tensor([1.0]), SECOND),
    "new": (lambda: on("cuda:1").new(2), SECOND),
    "legacy": (lambda: torch.Tensor([1.0]), CPU),
    "legacy of a type": (lambda: torch.FloatTensor([1.0]), CPU),
    "legacy of cuda": (lambda: torch.cuda.FloatTensor([1.0]), FIRST),
    "randperm": (lambda: torch.randperm(3, device="cuda"), FIRST),
    "normal": (lambda: torch.normal(torch.zeros(2, device="cuda"), 1.0), FIRST),
    "sparse": (lambda: torch.sparse_coo_tensor([[0]], [1.0], (2,), device="cuda"), FIRST),
    "sparse of its values": (
        lambda: torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.long).cuda(), torch.ones(1).cuda(), (2,)),
        FIRST,
    ),
    "to_sparse": (lambda: torch.eye(2, device="cuda:1").to_sparse(), SECOND),
    "to_dense": (lambda: torch.eye(2, device="cuda:1").to_sparse().to_dense(), SECOND),
    "one_hot": (lambda: nn.functional.one_hot(torch.tensor([1], device="cuda")), FIRST),
    "pad_sequence": (lambda: nn.utils.rnn.pad_sequence(list(on("cuda"))), FIRST),
    "view": (lambda: on("cuda:1")[0].view(3, 1).detach().data, SECOND),
    "arithmetic": (lambda: on("cuda:1") * 2 + 1, SECOND),
    "reduction": (lambda: on("cuda:1").sum(), SECOND),
    "several results": (lambda: on("cuda:1").max(0).indices, SECOND),
    "chunk": (lambda: on("cuda:1").chunk(2)[1], SECOND),
    "0-dim CPU operand": (lambda: on("cuda") + torch.tensor(1.0), FIRST),
    "CPU index": (lambda: on("cuda")[torch.tensor([0])], FIRST),
    "deepcopy": (lambda: copy.deepcopy(on("cuda:1")), SECOND),
    "copy": (lambda: copy.copy(on("cuda:1")), SECOND),
    "clone": (lambda: on("cuda:1").clone(), SECOND),
    "pickle": (lambda: pickle.loads(pickle.dumps(on("cuda:1"))), SECOND),
    "saved and loaded": (lambda: torch.load(saved(on("cuda:1"))), SECOND),
    "loaded on the CPU": (lambda: torch.load(saved(on("cuda:1")), map_location="cpu"), CPU),
    "loaded elsewhere": (lambda: torch.load(saved(on("cpu")), map_location="cuda:1"), SECOND),
    "loaded by a dict": (lambda: torch.load(saved(on("cuda:0")), map_location={"cuda:0": "cuda:1"}), SECOND),
    "loaded by a function": (lambda: torch.load(saved(on("cuda:0")), map_location=lambda storage, _: storage), CPU),
    "loaded as it was": (lambda: torch.load(saved(on("cpu"))), CPU),
    "to": (lambda: on("cpu").to("cuda:1"), SECOND),
    "to a number": (lambda: on("cpu").to(1), SECOND),
    "to keyword": (lambda: on("cpu").to(device="cuda", dtype=torch.float64), FIRST),
    "to other": (lambda: on("cpu").to(on("cuda:1")), SECOND),
    "to dtype": (lambda: on("cuda:1").to(torch.float64), SECOND),
    "type_as": (lambda: on("cpu").type_as(on("cuda:1")), SECOND),
    "cuda": (lambda: on("cpu").cuda(), FIRST),
    "cuda by number": (lambda: on("cpu").cuda(1), SECOND),
    "cpu": (lambda: on("cuda").cpu(), CPU),
    "type by name": (lambda: on("cuda").type("torch.FloatTensor"), CPU),
    "type by class": (lambda: on("cuda").type(torch.FloatTensor), CPU),
    "type to cuda": (lambda: on("cpu").type("torch.cuda.DoubleTensor"), FIRST),
    "double": (lambda: on("cuda:1").double(), SECOND),
    "half": (lambda: on("cuda:1").half(), SECOND),
    "pinned": (lambda: on("cpu").pin_memory(), CPU),
    "module": (lambda: nn.Linear(2, 2).to("cuda:1").weight, SECOND),
    "module by number": (lambda: nn.Linear(2, 2).to(1).weight, SECOND),
    "module with device": (lambda: nn.Linear(2, 2, device="cuda").weight, FIRST),
    "module to a tensor": (lambda: nn.Linear(2, 2).to(on("cuda:1")).weight, SECOND),
    "lazy module": (lambda: nn.LazyLinear(2).cuda()(on("cuda")), FIRST),
    "from the meta device": (lambda: nn.Linear(2, 2, device="meta").to_empty(device="cuda:1").weight, SECOND),
    "nested": (lambda: torch.nested.nested_tensor([torch.ones(2)], device="cuda"), FIRST),
    "nested, jagged": (lambda: torch.nested.nested_tensor([torch.ones(2)], device="cuda", layout=torch.jagged), FIRST),
    "parts of a sparse tensor": (lambda: torch.eye(2, device="cuda:1").to_sparse().coalesce().indices(), SECOND),
    "sparse of what is on the CPU": (
        lambda: torch.sparse_coo_tensor(torch.tensor([[0]]), torch.ones(1), (2,), device="cuda"),
        FIRST,
    ),
    "from_dlpack": (lambda: torch.from_dlpack(on("cuda")), FIRST),
    "dropout": (lambda: nn.functional.dropout(on("cuda:1")), SECOND),
    "buffer": (lambda: nn.BatchNorm1d(2).cuda(1).running_mean, SECOND),
    "multihead with added zeros": (
        lambda: nn.MultiheadAttention(4, 2, add_zero_attn=True).cuda()(*[torch.rand(3, 2, 4, device="cuda")] * 3)[0],
        FIRST,
    ),
    "lstm": (lambda: nn.LSTM(3, 4).cuda()(torch.rand(2, 1, 3, device="cuda"))[1][0], FIRST),
}


@pytest.mark.parametrize("name", MADE)
def test_a_tensor_is_where_it_was_made_or_moved(name: str) -> None:
    make, device = MADE[name]
    tensor = make()
    assert tensor.device == device
    assert tensor.is_cuda == (device.type == "cuda")
    assert tensor.get_device() == (-1 if device.type == "cpu" else device.index)


@pytest.mark.parametrize("name", [name for name, (_, device) in MADE.items() if device == CPU])
def test_what_the_program_makes_on_the_cpu_is_refused_on_an_accelerator(name: str) -> None:
    tensor = MADE[name][0]().reshape(-1)[:1].float()
    with pytest.raises(RuntimeError, match="same device"):
        tensor + torch.ones(1, device="cuda")


def test_inside_a_default_device() -> None:
    with torch.device("cuda:1"):
        assert torch.zeros(2).device == SECOND
        assert torch.tensor([1.0]).device == SECOND
        assert nn.Linear(2, 2).weight.device == SECOND
        assert torch.Tensor([1.0]).device == CPU
        assert torch.from_numpy(np.zeros(2)).device == CPU
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(2).device == FIRST
        assert torch.as_tensor([1.0]).device == FIRST
    finally:
        torch.set_default_device(None)
    assert torch.zeros(2).device == CPU


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning")
def test_a_default_tensor_type_of_cuda() -> None:
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    try:
        assert torch.zeros(2).device == FIRST
        assert torch.tensor([1.0]).device == FIRST
        assert torch.Tensor([1.0]).device == FIRST
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.zeros(2).device == CPU


def test_a_move_that_changes_nothing_gives_the_tensor_itself() -> None:
    here, there = on("cpu"), on("cuda")
    assert here.to("cpu") is here
    assert there.to("cuda") is there
    assert there.cuda() is there
    assert there.to("cuda", copy=True) is not there
    assert there.to("cuda:1") is not there


def test_a_gradient_returns_to_where_the_tensor_is() -> None:
    leaf = torch.ones(3, requires_grad=True)
    (leaf.to("cuda") * 2).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.device == CPU
    assert leaf.grad.tolist() == [2.0] * 3
    moved = torch.ones(3, device="cuda:1", requires_grad=True)
    (moved.cpu() * 3).sum().backward()
    assert moved.grad is not None
    assert moved.grad.device == SECOND


def test_double_backward_crosses_devices() -> None:
    leaf = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(leaf.to("cuda") ** 3, leaf, create_graph=True)
    (second,) = torch.autograd.grad(first, leaf)
    assert (first.item(), second.item(), second.device) == (12.0, 12.0, CPU)


def test_functional_transforms_cross_devices() -> None:
    gradient = torch.func.grad(lambda x: (x.to("cuda") ** 2).sum())(torch.ones(3))
    assert (gradient.device, gradient.tolist()) == (CPU, [2.0] * 3)
    mapped = torch.vmap(lambda x: (x * 2).to("cpu"))(on("cuda"))
    assert mapped.device == CPU
    tangent = torch.func.jvp(lambda x: x.to("cuda:1") * 3, (torch.ones(2),), (torch.ones(2),))[1]
    assert tangent.tolist() == [3.0, 3.0]


def test_a_gradient_from_another_device_cannot_be_assigned() -> None:
    weight = torch.ones(2, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with device type 'cpu'"):
        weight.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="located on device with index '1'"):
        weight.grad = torch.ones(2, device="cuda:1")
    weight.grad = torch.ones(2, device="cuda")
    weight.grad = None


def test_parameters_keep_their_identity_and_buffers_do_not() -> None:
    net = nn.BatchNorm1d(2)
    weight, mean = net.weight, net.running_mean
    assert net.to("cuda") is net
    assert net.weight is weight
    assert net.running_mean is not mean


def test_a_parameter_that_is_moved_is_no_parameter() -> None:
    assert not isinstance(nn.Parameter(torch.ones(2)).to("cuda"), nn.Parameter)
    assert isinstance(nn.Parameter(torch.ones(2)).to("cpu"), nn.Parameter)


def test_optimizer_state_is_where_the_parameters_are() -> None:
    net = nn.Linear(2, 1).to("cuda:1")
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.rand(4, 2, device="cuda:1")).sum().backward()
    optimizer.step()
    state = optimizer.state[net.weight]
    assert state["exp_avg"].device == SECOND
    assert state["step"].device == CPU
    other = nn.Linear(2, 1)
    restored = torch.optim.Adam(other.parameters())
    restored.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert restored.state[other.weight]["exp_avg"].device == CPU


def test_adagrad_before_the_move_leaves_its_state_behind() -> None:
    net = nn.Linear(2, 1)
    optimizer = torch.optim.Adagrad(net.parameters())
    net.cuda()
    net(torch.rand(4, 2, device="cuda")).sum().backward()
    with pytest.raises(RuntimeError, match="same device"):
        optimizer.step()


@pytest.mark.parametrize(
    "convert",
    [
        torch.Tensor.__array__,
        np.asarray,
        np.array,
        lambda t: np.mean(t.__array__()),
        lambda t: np.stack([t, t]),
    ],
)
def test_numpy_takes_nothing_from_an_accelerator(convert: Callable[[torch.Tensor], Any]) -> None:
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        convert(on("cuda"))


def test_what_numpy_may_have() -> None:
    tensor = torch.ones(2, device="cuda", requires_grad=True)
    assert tensor.numpy(force=True).tolist() == [1.0, 1.0]
    assert tensor.detach().cpu().numpy().tolist() == [1.0, 1.0]
    assert tensor.tolist() == [1.0, 1.0]
    assert float(tensor[0]) == 1.0


def test_printing_says_where_a_tensor_is() -> None:
    assert repr(torch.ones(1, device="cuda:1")) == "tensor([1.], device='cuda:1')"
    assert repr(torch.ones(1)) == "tensor([1.])"


@pytest.mark.parametrize("sorted_", [True, False])
def test_lengths_of_a_packed_sequence_are_on_the_cpu(sorted_: bool) -> None:
    given, lengths = torch.rand(3, 2, 4, device="cuda"), torch.tensor([3, 2] if sorted_ else [2, 3])
    packed = nn.utils.rnn.pack_padded_sequence(given, lengths, enforce_sorted=sorted_)
    output, _ = nn.LSTM(4, 5).cuda()(packed)
    padded, found = nn.utils.rnn.pad_packed_sequence(output)
    assert (padded.device, found.device) == (FIRST, CPU)
    with pytest.raises(RuntimeError, match="same device"):
        torch.lt(torch.arange(3, device="cuda"), found[:, None])


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning")
def test_splits_and_shuffles_take_the_generator_of_the_default_tensor_type() -> None:
    """`random_split` has a name of its own for `torch.randperm`."""
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    try:
        for make in (
            lambda: random_split([1, 2, 3, 4], [2, 2]),
            lambda: list(DataLoader([1, 2, 3], shuffle=True)),  # type: ignore[arg-type]
        ):
            with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
                make()
        first, second = random_split([1, 2, 3, 4], [2, 2], generator=torch.Generator("cuda"))
        assert sorted([*first, *second]) == [1, 2, 3, 4]
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")


def test_inference_mode() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1)).cuda()
    with torch.inference_mode():
        assert net(torch.rand(2, 3, device="cuda")).device == FIRST
        with pytest.raises(RuntimeError, match="same device"):
            net(torch.rand(2, 3))


def test_a_packed_sequence_moves() -> None:
    packed = nn.utils.rnn.pack_padded_sequence(torch.rand(3, 2, 4), torch.tensor([3, 2]))
    moved = packed.to("cuda")
    assert moved.data.device == FIRST
    assert moved.batch_sizes.device == CPU
    assert moved.is_cuda
    output, _ = nn.LSTM(4, 5).cuda()(moved)
    assert output.data.device == FIRST
    with pytest.raises(RuntimeError, match="lengths"):
        nn.utils.rnn.pack_padded_sequence(torch.rand(3, 2, 4).cuda(), torch.tensor([3, 2]).cuda())


def test_pinned_memory() -> None:
    pinned = on("cpu").pin_memory()
    assert pinned.is_pinned()
    assert not on("cpu").is_pinned()
    assert torch.empty(2, pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match=r"cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"):
        on("cuda").pin_memory()
    with simulate(1, recorder=Recorder()):
        for attempt in (
            lambda: torch.zeros(2, device="cuda", pin_memory=True),
            lambda: torch.zeros_like(on("cuda"), pin_memory=True),
        ):
            with pytest.raises(RuntimeError, match=r"^Only dense CPU tensors can be pinned$") as refused:
                attempt()
            assert story_of(refused.value) is not None


def test_a_device_that_is_not_there() -> None:
    for attempt in (lambda: on("cuda:2"), lambda: on("cpu").to("cuda:7"), lambda: nn.Linear(1, 1).cuda(3)):
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            attempt()
    with pytest.raises(RuntimeError, match="device string"):
        on("gpu")


def test_a_checkpoint_from_a_gpu_that_is_not_there() -> None:
    stream = saved(on("cuda:1"))
    with simulate(1), pytest.raises(RuntimeError, match="Attempting to deserialize object on CUDA device 1"):
        torch.load(stream)
    stream.seek(0)
    with simulate(0):
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
            torch.load(stream)
        stream.seek(0)
        assert torch.load(stream, map_location="cpu").device == CPU


def test_mps_and_xpu_are_names_too() -> None:
    with simulate(1, "mps"):
        assert torch.ones(2, device="mps").device.type == "mps"
        assert torch.backends.mps.is_available()
        x, wide = torch.ones(2, device="mps"), torch.ones(2, dtype=torch.float64)
        attempts: list[Callable[[], Any]] = [
            lambda: wide.to("mps"),
            lambda: torch.zeros(2, dtype=torch.float64, device="mps"),
            lambda: torch.tensor([1.0], dtype=torch.float64, device="mps"),
            lambda: torch.as_tensor(np.ones(2), device="mps"),
            lambda: torch.zeros_like(x, dtype=torch.float64),
            lambda: x.new_zeros(2, dtype=torch.float64),
            x.double,
            lambda: x.to(torch.float64),
            lambda: x.sum(dtype=torch.float64),
            lambda: nn.Linear(2, 2).double().to("mps"),
        ]
        for attempt in attempts:
            with pytest.raises(TypeError, match="MPS framework doesn't support float64"):
                attempt()
        assert torch.ones(2, dtype=torch.float64).to("mps", torch.float32).is_mps
    with simulate(2, "xpu"):
        assert torch.ones(2).to("xpu:1").is_xpu
        assert torch.xpu.device_count() == 2
        with pytest.raises((AssertionError, RuntimeError)):
            torch.ones(2).cuda()


def test_hidden_state_on_the_cpu() -> None:
    for layer, hidden in (
        (nn.LSTM(3, 4), (torch.zeros(1, 1, 4), torch.zeros(1, 1, 4))),
        (nn.GRU(3, 4), torch.zeros(1, 1, 4)),
        (nn.RNN(3, 4), torch.zeros(1, 1, 4)),
    ):
        with pytest.raises(
            RuntimeError,
            match="not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
        ):
            layer.cuda()(torch.rand(2, 1, 3, device="cuda"), hidden)
        with pytest.raises(RuntimeError, match="Input and parameter tensors are not at the same device"):
            layer.cuda()(torch.rand(2, 1, 3))


def test_attention_between_devices() -> None:
    query = torch.rand(1, 2, 3, 4, device="cuda")
    with pytest.raises(RuntimeError, match=r"query.device: cuda:0 key.device: cpu and value.device: cuda:0 instead"):
        nn.functional.scaled_dot_product_attention(query, query.cpu(), query)


def test_a_gradient_that_is_not_where_its_output_is() -> None:
    leaf = torch.ones(2, device="cuda", requires_grad=True)
    for seed in (
        lambda: torch.autograd.grad(leaf * 2, leaf, grad_outputs=torch.ones(2)),
        lambda: torch.autograd.backward([leaf * 2], [torch.ones(2)]),
        lambda: (leaf * 2).backward(torch.ones(2)),
    ):
        with pytest.raises(RuntimeError, match="invalid gradient at index 0 - expected device cuda:0 but got cpu"):
            seed()
    (leaf * 2).sum().backward(torch.tensor(1.0))
    (leaf * 2).backward(torch.ones_like(leaf))
    assert leaf.grad is not None
    assert leaf.grad.device == torch.device("cuda:0")


def test_an_optimizer_of_a_model_on_two_devices() -> None:
    first, second = nn.Linear(2, 2).to("cuda:0"), nn.Linear(2, 1).to("cuda:1")
    for kind in (torch.optim.Adam, torch.optim.SGD, torch.optim.AdamW, torch.optim.RMSprop):
        optimizer = kind([*first.parameters(), *second.parameters()], lr=0.1)
        optimizer.zero_grad()
        second(first(torch.rand(3, 2, device="cuda")).to("cuda:1")).sum().backward()
        nn.utils.clip_grad_norm_([*first.parameters(), *second.parameters()], 1.0)
        optimizer.step()
    assert {parameter.device for parameter in second.parameters()} == {SECOND}


def test_seeds_of_accelerators_are_their_own() -> None:
    torch.cuda.manual_seed(4)
    first = torch.randn(2, device="cuda"), nn.functional.dropout(torch.ones(20, device="cuda"))
    torch.cuda.manual_seed(4)
    assert torch.equal(first[0], torch.randn(2, device="cuda"))
    assert torch.equal(first[1], nn.functional.dropout(torch.ones(20, device="cuda")))
    torch.manual_seed(0)
    on_the_cpu = torch.rand(3)
    torch.manual_seed(0)
    torch.rand(5, device="cuda")
    nn.functional.dropout(torch.ones(5, device="cuda"))
    assert torch.equal(on_the_cpu, torch.rand(3))


def test_an_operator_that_is_written_in_python_runs_in_the_simulation() -> None:
    @torch.library.custom_op("torchdevlint_tests::scaled", mutates_args=(), schema="(Tensor x) -> Tensor")
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * torch.full_like(x, 2.0) + torch.zeros(x.shape, device=x.device)

    @torch.library.custom_op("torchdevlint_tests::broken", mutates_args=(), schema="(Tensor x) -> Tensor")
    def broken(x: torch.Tensor) -> torch.Tensor:
        return x + torch.zeros(x.shape)

    assert scaled(on("cuda:1")).device == SECOND
    with pytest.raises(RuntimeError, match="same device"):
        broken(on("cuda"))


def test_what_only_the_cpu_cannot_do_is_refused_by_name() -> None:
    with pytest.raises(NotSimulated, match="lu_factor"):
        torch.linalg.lu_factor(torch.eye(2, device="cuda"), pivot=False)


def test_fake_tensors_work_beside_the_simulation() -> None:
    with FakeTensorMode():
        assert (torch.zeros(2) + 1).shape == (2,)


@needs_fork
def test_a_forked_child_cannot_use_what_it_inherited() -> None:
    tensor = on("cuda")
    for attempt in (lambda: tensor + 1, tensor.cpu, lambda: tensor.sum().item()):
        child = os.fork()
        if child == 0:
            try:
                attempt()
            except RuntimeError as error:
                os._exit(7 if "initialization error" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert (tensor + 1).device == FIRST


def test_a_module_can_be_traced_symbolically() -> None:
    """`torch.fx` goes through all functions of torch, and refuses one that it may and may not override."""
    layer = nn.Linear(2, 2).cuda()
    cached: list[Any] = [value for value in vars(torch.overrides).values() if hasattr(value, "cache_clear")]
    assert cached
    for function in cached:
        function.cache_clear()
    try:
        assert torch.fx.symbolic_trace(layer)(torch.ones(1, 2, device="cuda")).device == FIRST
    finally:
        for function in cached:
            function.cache_clear()


def test_a_subclass_is_made_of_a_tensor_that_has_a_history() -> None:
    class Named(torch.Tensor):
        pass

    weight = torch.ones(2, device="cuda:1", requires_grad=True)
    made = (weight * 2).as_subclass(Named)
    assert type(made) is Named
    assert made.device == SECOND
    (made * 3).sum().backward()
    assert weight.grad is not None
    assert weight.grad.device == SECOND


def test_numbers_that_vmap_hands_to_operators() -> None:
    """A mode is given a number where C++ has wrapped one in a tensor: `_to_copy(1)`."""
    for device in ("cpu", "cuda"):
        made = torch.vmap(lambda each: each + 1)(torch.arange(4.0, device=device))
        assert made.tolist() == [1, 2, 3, 4]
        assert made.device.type == device


def test_a_view_of_a_sparse_tensor() -> None:
    sparse = torch.eye(2, device="cuda:1").to_sparse()
    for view in (sparse.t(), sparse.mT, sparse.transpose(0, 1), sparse.detach()):
        assert {view.device, view._indices().device, view._values().device} == {SECOND}
        assert torch.mm(view, torch.ones(2, 2, device="cuda:1")).device == SECOND
    with pytest.raises(RuntimeError, match=r"cpu, different from other tensors on cuda:1|cuda:1 and cpu"):
        torch.mm(sparse.t(), torch.ones(2, 2))


def test_legacy_sparse_types() -> None:
    indices, values = torch.tensor([[0, 1], [1, 0]], device="cuda"), torch.ones(2, device="cuda")
    sparse = torch.cuda.sparse.FloatTensor(indices, values, torch.Size([2, 2]))
    assert sparse.device == torch.sparse.FloatTensor(indices, values).device == FIRST
    assert sparse.type() == "torch.cuda.sparse.FloatTensor"
    assert isinstance(sparse, torch.cuda.sparse.FloatTensor)
    assert not isinstance(sparse, torch.sparse.FloatTensor | torch.cuda.FloatTensor)
    assert torch.cuda.sparse.DoubleTensor(2, 3).device == FIRST
    assert torch.sparse.DoubleTensor(2, 3).device == CPU


def test_a_lazy_module_that_is_there_already() -> None:
    lazy = nn.LazyLinear(3).to("cpu").cpu().to("cuda").to("cuda").cuda()
    assert lazy.weight.get_device() == 0
    assert lazy(torch.ones(2, 4, device="cuda")).device == FIRST


def test_compiled_code_can_be_forgotten() -> None:
    """`torch._dynamo.reset` imports what only a build for CUDA has in `torch._C`."""
    torch._dynamo.reset()


def test_a_subclass_keeps_its_class_when_it_moves() -> None:
    class Named(torch.Tensor):
        pass

    tensor = torch.ones(2).as_subclass(Named)
    for moved in (tensor.cuda(), tensor.to("cuda:1"), tensor.to("cuda").cpu()):
        assert type(moved) is Named
    assert tensor.to("cuda:1").device == SECOND


def test_a_tensor_that_takes_operations_apart() -> None:
    """Its class names the device of what is inside, and C++ has no such device."""
    plain = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    there = plain.to("cuda:1")
    assert {there.device, there.values().device, there.offsets().device, (there * 2).values().device} == {SECOND}
    assert {plain.device, plain.values().device, there.cpu().device, there.cpu().values().device} == {CPU}
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.add(there.values(), plain.values())


def test_a_default_device_moves_what_is_made_of_a_tensor() -> None:
    """`torch.as_tensor` and its likes are factories to `torch.utils._device`."""
    plain = torch.ones(2)
    with torch.device("cuda:1"):
        for made in (torch.as_tensor(plain), torch.as_tensor(plain, dtype=torch.float64), torch.tensor(plain)):
            assert made.device == SECOND
        assert torch.as_tensor(plain, device=plain.device, dtype=torch.float64).device == CPU


def test_a_factory_that_writes_into_a_tensor() -> None:
    there = torch.empty(3, device="cuda")
    assert torch.arange(1, 4, out=there, device="cuda").tolist() == [1, 2, 3]
    for device, out in (("cuda", torch.empty(3)), ("cpu", there)):
        with pytest.raises(RuntimeError, match=rf"device type {device} does not match .* \({out.device.type}\)"):
            torch.zeros(3, out=out, device=device)
    with torch.device("cuda"):
        assert torch.linspace(0, 1, 3, out=there).device == FIRST
        with pytest.raises(RuntimeError, match=r"device type cuda does not match device type of out parameter \(cpu\)"):
            torch.ones(3, out=there.cpu())
    assert torch.ones(3, out=there).device == FIRST


def test_a_capsule_of_dlpack_is_where_its_tensor_is() -> None:
    for tensor, device in ((torch.ones(3, device="cuda:1"), SECOND), (torch.ones(3), CPU)):
        for back in (torch.from_dlpack, torch.utils.dlpack.from_dlpack):
            made = back(torch.utils.dlpack.to_dlpack(tensor))
            assert made.device == device
            assert (made + tensor).device == device


def test_a_pinned_tensor_like_another() -> None:
    there = torch.ones(3, device="cuda")
    offloaded = torch.empty_like(there, device="cpu", pin_memory=True)
    assert offloaded.device == CPU
    assert offloaded.is_pinned()
    assert there.new_empty(3, device="cpu", pin_memory=True).is_pinned()
    assert torch.zeros_like(torch.ones(3), pin_memory=True).is_pinned()
    assert not torch.zeros_like(torch.ones(3)).is_pinned()
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty_like(there, pin_memory=True)


def test_what_is_computed_of_pinned_memory_is_not_pinned() -> None:
    pinned = torch.ones(3, pin_memory=True)
    assert pinned[1:].is_pinned()
    for made in (pinned.clone(), pinned * 2, torch.zeros_like(pinned), torch.cat([pinned, pinned])):
        assert not made.is_pinned()
    assert pinned.is_pinned()


def test_a_tensor_like_another_leaves_its_claim_alone() -> None:
    plain = torch.ones(3)
    claim = claim_of(plain)
    assert claim is not None
    like = claim_of(torch.zeros_like(plain))
    assert like is not None
    assert (claim.how, like.how) == ("ones", "zeros_like")


def test_what_is_on_the_meta_device_cannot_be_copied() -> None:
    layer = nn.Linear(2, 2, device="meta")
    for move in (layer.cuda, layer.weight.cuda, lambda: layer.weight.to("cuda:1")):
        with pytest.raises(NotImplementedError, match=r"^Cannot copy out of meta tensor; no data!$"):
            move()
    with pytest.raises(NotImplementedError, match=r"Please use torch.nn.Module.to_empty\(\) instead"):
        layer.to("cuda")


def test_a_number_for_an_index_that_is_elsewhere_becomes_a_tensor() -> None:
    """What `x[index] = number` does since 2.15, before the number comes to the C++ that would choose `index_fill_`."""
    put: list[Any] = []
    setitem = composites._setitem(lambda table, index, value: put.append(value))
    table, here = on("cuda"), torch.tensor([0], device="cuda")
    for index in (here, (slice(None), here), [0], 1):
        setitem(table, index, 1.0)
    for index in (here.cpu(), (slice(None), here.cpu())):
        setitem(table, index, 1)
    setitem(torch.zeros(3), here, True)
    setitem(table, here.cpu(), torch.tensor(1.0))
    *same, first, second, third, given = put
    assert same == [1.0] * 4
    assert all(isinstance(one, torch.Tensor) and one.dim() == 0 for one in (first, second, third, given))
    assert [(one.device, one.dtype) for one in (first, second)] == [(FIRST, table.dtype)] * 2
    assert (str(third.device), str(given.device)) == ("cpu", "cpu")


@pytest.fixture(scope="module")
def jagged_cannot() -> set[str]:
    """What jagged tensors cannot do under this torch, without a simulation."""
    nested = torch.nested.nested_tensor([torch.ones(2, 3)], layout=torch.jagged)
    cannot = set()
    with torch.inference_mode():
        for name, use in (("drop", nn.Dropout()), ("pad", lambda x: torch.nested.to_padded_tensor(x, 0.0))):
            try:
                use(nested)
            except NotImplementedError:
                cannot.add(name)
    return cannot


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_layer_takes_nested_tensors(jagged_cannot: set[str], layout: torch.layout) -> None:
    rows = [torch.ones(2, 3), torch.ones(4, 3)]
    nested = torch.nested.nested_tensor(rows, layout=layout, device="cuda", requires_grad=True)
    layer = nn.Sequential(nn.Linear(3, 5), nn.Dropout()).cuda()
    out = layer(nested)
    assert (out.device, [row.device for row in out.unbind()]) == (FIRST, [FIRST] * 2)
    cannot = jagged_cannot if layout is torch.jagged else set()
    padded = out.values() if "pad" in cannot else torch.nested.to_padded_tensor(out, 0.0)
    padded.sum().backward()
    assert nested.grad is not None
    assert (nested.grad.device, layer[0].weight.grad.device) == (FIRST, FIRST)
    layer = layer[:1] if "drop" in cannot else layer
    with torch.inference_mode():
        assert layer(torch.nested.nested_tensor(rows, layout=layout).to("cuda")).cpu().device == CPU
        with pytest.raises(RuntimeError, match="same device"):
            layer(torch.nested.nested_tensor(rows, layout=layout))


class Strict(torch.Tensor):  # type: ignore[misc]
    """A class that notes what it is asked, and takes nothing else than what CUDA's tensors would ask of it."""

    asked: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        owner = getattr(func, "__self__", None)
        cls.asked.append(func.__name__ if func.__name__ != "__get__" else _attribute(owner))
        return super().__torch_function__(func, types, args, kwargs or {})


def _attribute(owner: Any) -> str:
    return next((name for name, value in vars(torch.Tensor).items() if value is owner), None) or owner.__name__


def test_a_class_with_a_function_of_its_own_is_asked_what_cuda_would_ask() -> None:
    x = torch.ones(3).as_subclass(Strict)
    questions: dict[str, Callable[[], Any]] = {
        "device": lambda: x.device,
        "is_cuda": lambda: x.is_cuda,
        "to": lambda: x.to("cuda"),
        "cuda": x.cuda,
        "cpu": lambda: x.cuda().cpu(),
        "add": lambda: x + x,
        "numpy": x.numpy,
        "type": lambda: x.type("torch.cuda.FloatTensor"),
        "get_device": x.get_device,
        "new_zeros": lambda: x.new_zeros(3),
        "zeros_like": lambda: torch.zeros_like(x),
        "quantile": lambda: torch.quantile(x, 0.5),
    }
    asked = {}
    for name, ask in questions.items():
        Strict.asked.clear()
        made = ask()
        asked[name] = list(Strict.asked)
        assert not isinstance(made, torch.Tensor) or type(made) is Strict
    assert asked == {name: ["cuda", "cpu"] if name == "cpu" else [name] for name in questions}


def test_a_storage_elsewhere_is_refused_by_set() -> None:
    with simulate(1):
        here, there = torch.ones(2), torch.ones(2, device="cuda")
        for tensor, other in ((here, there), (there, here)):
            with pytest.raises(RuntimeError, match="This is no longer allowed; the devices must match"):
                torch.empty(0, device=tensor.device).set_(other.untyped_storage())
            made = torch.empty(0, device=tensor.device).set_(tensor.untyped_storage())
            assert made.device == tensor.device


def test_streams_are_not_recorded_for_tensors_of_the_cpu() -> None:
    with simulate(1):
        torch.ones(1, device="cuda").record_stream(torch.cuda.Stream())
        with pytest.raises(NotImplementedError, match="'aten::record_stream' with arguments from the 'CPU' backend"):
            torch.ones(1).record_stream(torch.cuda.Stream())


def test_numpy_speaks_of_the_layout_first() -> None:
    with simulate(1):
        for device in ("cuda", "cpu"):
            with pytest.raises(TypeError, match="can't convert Sparse layout tensor to numpy"):
                torch.ones(2, device=device).to_sparse().numpy()


def test_legacy_types_name_options() -> None:
    with simulate(1):
        with pytest.raises(TypeError, match=r"expected TensorOptions\(dtype=float, device=cpu, .*got .*cuda:0"):
            torch.FloatTensor(torch.ones(2, device="cuda"))
        with pytest.raises(TypeError, match=r"expected TensorOptions\(dtype=float, device=cuda, .*got .*long int"):
            torch.cuda.FloatTensor(torch.ones(2, dtype=torch.int64))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_packed_sequence_of_the_cpu_is_found_out_by_the_first_product(kind: str, bias: bool) -> None:
    with simulate(1):
        layer = getattr(torch.nn, kind)(2, 4, bias=bias).cuda()
        packed = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 2), [3, 2])
        with pytest.raises(RuntimeError, match="wrapper_CUDA_addmm" if bias else "wrapper_CUDA_mm"):
            layer(packed)
        assert layer(packed.to("cuda"))[0].data.device == torch.device("cuda:0")


def test_functions_that_compare_before_they_begin() -> None:
    with simulate(1):
        there, here = torch.ones(2, device="cuda"), torch.ones(2)
        with pytest.raises(RuntimeError, match="meshgrid expects all tensors to have the same device"):
            torch.cartesian_prod(there, here)
        index = torch.zeros(1, dtype=torch.long)
        for take in (torch.take_along_dim, torch.Tensor.take_along_dim):
            with pytest.raises(RuntimeError, match=r"to have cuda:0 Device, .* torch.take_along_dim\(\):"):
                take(there, index, 0)
            assert take(there, index.cuda(), 0).device == there.device
        assert torch.cartesian_prod(there, there).device == there.device
        assert torch.cartesian_prod(here).shape == (2,)
