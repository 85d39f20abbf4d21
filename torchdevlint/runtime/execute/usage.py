"""What the body of a function says of a name: that it is called, indexed, unpacked into four sizes ... No torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from torchdevlint.runtime.execute.target import dotted

TENSOR_ATTRIBUTES = frozenset(
    "shape device dtype size dim ndim view reshape unsqueeze squeeze transpose permute sum mean numel detach clone"
    " contiguous expand repeat expand_as view_as type_as to cuda cpu numpy item softmax sigmoid exp log pow sqrt abs"
    " float long int half bool matmul mm bmm argmax argmin max min norm flatten unbind chunk split new_zeros new_ones"
    " new_tensor new_full masked_fill gather scatter backward requires_grad is_cuda data T t clamp cumsum sort".split()
)
_RANKS = {"conv1d": 3, "conv2d": 4, "conv3d": 5, "bmm": 3, "mm": 2, "interpolate": 4, "max_pool2d": 4, "avg_pool2d": 4}
_SIZES = {"zeros", "ones", "empty", "randn", "rand", "eye", "arange", "linspace", "range", "full"}
_TENSORS = frozenset("Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ByteTensor BoolTensor".split())
_LAYER = re.compile(
    r"^(torch\.)?nn\.(Linear|Bilinear|(Lazy)?Conv\w*|Embedding\w*|LSTM\w*|GRU\w*|RNN\w*|\w*Norm\w*|MultiheadAttention"
    r"|Transformer\w+Layer)$"
)
_SIZES_OF_LAYERS = frozenset(
    "in_features out_features in_channels out_channels num_embeddings embedding_dim input_size hidden_size embed_dim"
    " num_heads num_features normalized_shape num_channels kernel_size d_model nhead".split()
)


@dataclass
class Usage:
    """The evidence for one name, of a parameter or a dotted path."""

    attributes: set[str] = field(default_factory=set)
    called: bool = False
    sized: bool = False
    """It is a size, or goes through `range`."""
    device: bool = False
    """It is handed on as a device."""
    generator: bool = False
    """It is handed on as a generator of random numbers."""
    rank: int = 0
    """How many dimensions are unpacked or named, 0 if nothing says so."""
    at_least: int = 0
    keys: list[str] = field(default_factory=list)
    """The texts that it is indexed with."""
    elements: list[ast.expr] = field(default_factory=list)
    """The targets of loops over it."""
    compared: list[object] = field(default_factory=list)
    """The constants that it is compared with, or looked for among; the keys of a dict that it chooses from."""
    kinds: list[str] = field(default_factory=list)
    """The classes that it is asked for by `isinstance`."""
    ranks: list[int] = field(default_factory=list)
    """The numbers that its count of dimensions is compared with."""
    members: list[str] = field(default_factory=list)
    """The dotted paths of what it is looked for in: ``if mode in MODES``."""
    torch_argument: bool = False
    counts: bool = False
    """It is what a loop over `range` counts, or the number that `enumerate` gives."""

    @property
    def tensor(self) -> bool:
        return bool(self.attributes & TENSOR_ATTRIBUTES) or bool(self.rank or self.ranks) or self.torch_argument

    def also(self, other: Usage) -> Usage:
        """The evidence of both, for two names of one value."""
        return Usage(
            *(
                one | two if isinstance(one, set) else one + two if isinstance(one, list) else max(one, two)
                for one, two in ((getattr(each, name) for each in (self, other)) for name in self.__dataclass_fields__)
            )
        )


def counter_of(loop: ast.For | ast.AsyncFor | ast.comprehension) -> ast.expr | None:
    """The name that a loop over `range` or `enumerate` counts with."""
    path = dotted(loop.iter.func) if isinstance(loop.iter, ast.Call) else None
    if path in ("range", "trange", "tqdm.trange"):
        return loop.target
    if path == "enumerate" and isinstance(loop.target, ast.Tuple):
        return loop.target.elts[0]
    return None


Evidence = Callable[[ast.AST], Usage | None]


def usages(nodes: Iterable[ast.AST]) -> dict[str, Usage]:
    """The evidence for every name and dotted path that is read in `nodes`."""
    found: dict[str, Usage] = {}

    def of(node: ast.AST) -> Usage | None:
        path = dotted(node)
        return None if path is None else found.setdefault(path, Usage())

    for root in nodes:
        for node in ast.walk(root):
            _look(node, of)
    return found


def _look(node: ast.AST, evidence: Evidence) -> None:  # noqa: C901 (one branch for each kind of node)
    if isinstance(node, ast.Attribute) and (usage := evidence(node.value)):
        usage.attributes.add(node.attr)
    elif isinstance(node, ast.Call):
        _look_at_call(node, evidence)
    elif isinstance(node, ast.Subscript):
        if usage := evidence(node.value):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                usage.keys.append(node.slice.value)
            if isinstance(node.slice, ast.Tuple):
                plain = [
                    each for each in node.slice.elts if not (isinstance(each, ast.Constant) and each.value is None)
                ]
                usage.at_least = max(usage.at_least, len(plain))
        if isinstance(node.value, ast.Dict) and (usage := evidence(node.slice)):
            usage.compared += _constants(node.value.keys)
        shape = node.value
        if isinstance(shape, ast.Attribute) and shape.attr == "shape" and (usage := evidence(shape.value)):
            _index(usage, node.slice)
    elif isinstance(node, (ast.For, ast.comprehension)):
        iterated, target = node.iter, node.target
        wrapper = dotted(iterated.func) if isinstance(iterated, ast.Call) and iterated.args else None
        if isinstance(iterated, ast.Call) and wrapper in ("enumerate", "tqdm", "iter"):
            if wrapper == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                target = target.elts[1]
            iterated = iterated.args[0]
        if usage := evidence(iterated):
            usage.elements.append(target)
        if (counter := counter_of(node)) and (usage := evidence(counter)):
            usage.counts = True
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
        if usage := evidence(node.left):
            _look_at_comparison(usage, node.ops[0], node.comparators[0])
        if (counted := _counted(node.left)) is not None and (usage := evidence(counted)):
            usage.ranks += _ranks(node.ops[0], node.comparators[0])
    elif isinstance(node, ast.Match) and (usage := evidence(node.subject)):
        values = [
            each.value for case in node.cases for each in ast.walk(case.pattern) if isinstance(each, ast.MatchValue)
        ]
        usage.compared += _constants(values)
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        _look_at_unpacking(node, evidence)


def _look_at_comparison(usage: Usage, how: ast.cmpop, other: ast.expr) -> None:
    if isinstance(other, ast.Constant) and not isinstance(how, (ast.In, ast.NotIn)):
        usage.compared.append(other.value)
    elif isinstance(other, (ast.Tuple, ast.List, ast.Set)):
        usage.compared += _constants(other.elts)
    elif isinstance(other, ast.Dict):
        usage.compared += _constants(other.keys)
    elif isinstance(how, (ast.In, ast.NotIn)):
        while isinstance(other, ast.Call) and isinstance(other.func, ast.Attribute) and not other.args:
            other = other.func.value  # ``MODES.keys()``
        if path := dotted(other):
            usage.members.append(path)


def _counted(node: ast.expr) -> ast.expr | None:
    """What has the dimensions that an expression counts: ``x.ndim``, ``x.dim()``, ``len(x.shape)``."""
    if isinstance(node, ast.Call) and dotted(node.func) == "len" and len(node.args) == 1:
        shape = node.args[0]
        found = shape.func if isinstance(shape, ast.Call) and not shape.args else shape
        return found.value if isinstance(found, ast.Attribute) and found.attr in ("shape", "size") else None
    found = node.func if isinstance(node, ast.Call) and not node.args else node
    return found.value if isinstance(found, ast.Attribute) and found.attr in ("ndim", "dim", "ndimension") else None


def _ranks(how: ast.cmpop, other: ast.expr) -> list[int]:
    """How many dimensions pass a comparison, and how many do not: those that are named first."""
    named = [each for each in _constants(getattr(other, "elts", [other])) if type(each) is int]
    more = {ast.Gt: 1, ast.Lt: -1}.get(type(how), 0)
    return [each for one in named for each in (one + more, *([one] if more else ())) if 0 < each < 6]


def _constants(nodes: Iterable[ast.expr | None]) -> list[object]:
    return [each.value for each in nodes if isinstance(each, ast.Constant)]


def _look_at_call(node: ast.Call, evidence: Evidence) -> None:
    if usage := evidence(node.func):
        usage.called = True
    path = dotted(node.func) or ""
    head, _, name = path.rpartition(".")
    root = path.partition(".")[0]
    if isinstance(node.func, ast.Attribute) and (usage := evidence(node.func.value)):
        if name in ("size", "transpose"):
            for each in node.args:
                _index(usage, each)
        if name == "permute":
            usage.rank = len(node.args) if len(node.args) > 1 else usage.rank
    for number, argument in enumerate(node.args):
        usage = evidence(argument)
        if usage is None:
            continue
        if path == "isinstance" and number == 0 and len(node.args) == 2:
            asked = getattr(node.args[1], "elts", [node.args[1]])
            usage.kinds += [(dotted(each) or "").rpartition(".")[2] for each in asked]
        if name in _SIZES or (name in _TENSORS and len(node.args) > 1) or _LAYER.match(path):
            usage.sized = True
        elif name in _TENSORS:
            continue  # ``torch.Tensor(x)`` takes a size, or numbers
        elif name in ("to", "cuda") and head:
            usage.device = True
        elif root in ("torch", "F") and number == 0:
            usage.torch_argument = True
            usage.rank = usage.rank or _RANKS.get(name, 0)
    _look_at_keywords(node, path, evidence)


def _look_at_keywords(node: ast.Call, path: str, evidence: Evidence) -> None:
    for keyword in node.keywords:
        if keyword.arg == "device" and (usage := evidence(keyword.value)):
            usage.device = True
        elif keyword.arg == "generator" and (usage := evidence(keyword.value)):
            usage.generator = True
        elif keyword.arg in _SIZES_OF_LAYERS and _LAYER.match(path) and (usage := evidence(keyword.value)):
            usage.sized = True


def _look_at_unpacking(node: ast.Assign, evidence: Evidence) -> None:
    """``b, c, h, w = x.shape``, ``n, d = x.size()``."""
    target, value = node.targets[0], node.value
    assert isinstance(target, ast.Tuple)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "size":
        owner: ast.expr = value.func.value
        if value.args:
            return
    elif isinstance(value, ast.Attribute) and value.attr == "shape":
        owner = value.value
    else:
        return
    usage = evidence(owner)
    if usage is None:
        return
    if any(isinstance(each, ast.Starred) for each in target.elts):
        usage.at_least = max(usage.at_least, len(target.elts) - 1)
    else:
        usage.rank = len(target.elts)


def _index(usage: Usage, node: ast.expr) -> None:
    """A dimension that is named is one that the tensor has."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        usage.at_least = max(usage.at_least, node.value + 1)
    elif (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, int)
    ):
        usage.at_least = max(usage.at_least, node.operand.value)
