"""Public names: canonical dotted names of torch, paths of attributes, and what a name alone can say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction, FunctionNode
from torchdevlint.source.imported import imported_name
from torchdevlint.source.nodes import inside, once_a_node

_DTYPES = frozenset(
    """
    float float16 float32 float64 half double bfloat16 int int8 int16 int32 int64 uint8 short long bool complex64
    complex128 cfloat cdouble chalf float8_e4m3fn float8_e5m2 uint16 uint32 uint64
    """.split()
)
_ALIASES = (
    ("torch.nn.modules.", regex(r"torch\.nn\.modules\.(?:\w+\.)?(\w+)$"), r"torch.nn.\1"),
    ("torch.nn.parameter.", regex(r"torch\.nn\.parameter\.(\w+)$"), r"torch.nn.\1"),
    (
        "torch.nn.parallel.",
        regex(r"torch\.nn\.parallel\.(?:data_parallel|distributed)\.(\w+)$"),
        r"torch.nn.parallel.\1",
    ),
    ("torch.functional.", regex(r"torch\.functional\.(\w+)$"), r"torch.\1"),
    ("torch._C.", regex(r"torch\._C\._VariableFunctions\.(\w+)$"), r"torch.\1"),
    ("torch.autograd.", regex(r"torch\.autograd\.variable\.Variable$"), "torch.autograd.Variable"),
    ("torch.serialization.", regex(r"torch\.serialization\.(load|save)$"), r"torch.\1"),
    ("torch.spmm", regex(r"torch\.spmm$"), "torch.mm"),
    ("torch.dsmm", regex(r"torch\.dsmm$"), "torch.mm"),
)
"""How the names that are meant begin, as a gate; which they are; and what is put in their place."""
_BUILTIN_ALIAS = regex(r"numpy\.(bool|int|float|complex|object|str)$")
"""What NumPy called Python's own types until its release 1.24, according to the notes of that release."""
_DEVICE_WORDS = regex(
    r"(?:^|(?<!per)_)(?:device|dev|devices)(?:$|_(?!type|count|ids|map|mesh|num|index|id|name))", re.IGNORECASE
)
_CUDA_WORDS = regex(r"cuda|gpu", re.IGNORECASE)
_LOADER = regex(r"(?:loaders?|dl)(?:_(?:train|training|val|valid|validation|eval|test|testing|dev))?$")
_PARTS_OF_A_GRID = frozenset({"matplotlib.axes.Axes.flat", "matplotlib.axes.Axes.T"})
"""What arrays of axes have: the same axes again."""


@lru_cache(maxsize=8192)
def canonical(name: str) -> str:
    """One public name for the several under which torch exports the same object, NumPy one of Python's, a grid axes."""
    if name.startswith("torch."):
        for start, pattern, replacement in _ALIASES:
            if not name.startswith(start):
                continue
            name, count = pattern.subn(replacement, name)
            if count:
                return name
    if name.startswith("numpy."):
        return _BUILTIN_ALIAS.sub(r"builtins.\1", name)
    return "matplotlib.axes.Axes" if name in _PARTS_OF_A_GRID else name


def is_dtype_name(name: str) -> bool:
    """Whether a public name is a `torch.dtype`, such as ``torch.float32``."""
    head, _, tail = name.rpartition(".")
    return head == "torch" and tail in _DTYPES


def device_spec(node: ast.expr) -> ast.expr:
    """What a device is named by: ``"cuda"`` of ``torch.device("cuda")``; any other expression is given back."""
    is_made = isinstance(node, ast.Call) and len(node.args) == 1 and public_path(node.func) == "torch.device"
    return node.args[0] if is_made else node  # type: ignore[attr-defined]


def is_cpu_spec(node: ast.expr) -> bool:
    """Whether an expression spells the CPU out: ``"cpu"``, ``torch.device("cpu")``."""
    named = device_spec(node)
    return isinstance(named, ast.Constant) and named.value == "cpu"


def is_dtype(node: ast.AST) -> bool:
    """Whether an expression names a `torch.dtype`, by what its file imports, or a type that stands for one."""
    path = public_path(node)
    return path in ("bool", "int", "float") or is_dtype_name(path)


@lru_cache(maxsize=8192)
def mentions_device(name: str) -> bool:
    """Whether a name is by convention that of a device: ``device``, ``_device``, ``device_``, ``train_device``."""
    return bool(_DEVICE_WORDS.search(name))


@lru_cache(maxsize=8192)
def mentions_cuda(text: str) -> bool:
    """Whether a name or an expression speaks of CUDA or a GPU: ``use_cuda``, ``args.gpu``."""
    return bool(_CUDA_WORDS.search(text))


def first_name(path: str) -> str:
    """The name that a dotted path starts with: `batch` of ``batch['x'].device``."""
    return path.partition(".")[0].partition("[")[0]


def has_stars(call: ast.Call) -> bool:
    """Whether a call hands on arguments that it does not name: ``f(*args, **kwargs)``."""
    return any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)


@once_a_node
def positional_names(function: AnyFunction) -> list[str]:
    """The parameters that arguments without a name go to, in their order."""
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def takes_inputs(method: FunctionNode | None) -> bool:
    """Whether a method is given anything besides `self`."""
    if method is None:
        return False
    spec = method.args
    return bool(positional_names(method)[1:] or spec.kwonlyargs or spec.vararg or spec.kwarg)


@once_a_node
def parameter_names(function: AnyFunction) -> frozenset[str]:
    """The names of the parameters of a function, those after stars excepted."""
    return frozenset((*positional_names(function), *(each.arg for each in function.args.kwonlyargs)))


def given_by_default(arguments: ast.arguments) -> list[tuple[str, ast.expr]]:
    """The parameters that have a default, with it."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
    pairs += [(each, at) for each, at in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if at]
    return [(each.arg, default) for each, default in pairs]


def dotted_path(node: ast.AST) -> str | None:
    """``self.h``, ``batch['x']``: the text of a chain of attributes and literal keys on a name, else None."""
    kind = type(node)  # asked for most expressions, some of them many times: `isinstance` would double its time
    if kind is ast.Name:
        return node.id  # type: ignore[attr-defined,no-any-return]
    if kind is ast.Attribute:
        holder = node.value  # type: ignore[attr-defined]
        path = holder.id if type(holder) is ast.Name else dotted_path(holder)
        return None if path is None else f"{path}.{node.attr}"  # type: ignore[attr-defined]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        path = dotted_path(node.value)
        return None if path is None else f"{path}[{node.slice.value!r}]"
    return None


def names_one_of(path: str | None, nodes: Iterable[ast.AST]) -> bool:
    """Whether the text of a chain (`dotted_path`) is that of one of the nodes."""
    return any(dotted_path(each) == path for each in nodes)


def variable_of(node: ast.AST) -> str | None:
    """The name, or the attribute of `self`, that an expression is: a variable of a function, or one of an object."""
    if isinstance(node, ast.Name):
        return node.id
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return f"self.{node.attr}" if own else None  # type: ignore[attr-defined]


def public_path(node: ast.AST) -> str:
    """What a chain of attributes on a name stands for by the imports of its file; "" for any other expression.

    ``torch.nn.functional.relu`` for ``relu`` that was imported from there, and for ``F.relu``. A name that nothing
    imports stands for itself, as built-in ones do, unless a function binds what others import.
    """
    names: list[str] = []
    while type(node) is ast.Attribute:
        names.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return ""
    public = imported_name(node)
    if not names:
        return node.id if public is None else canonical(public)
    if public == "":
        return ""
    names.append(node.id if public is None else public)
    names.reverse()
    return canonical(".".join(names))


def names_of_item(node: ast.expr) -> Iterator[str]:
    """What an expression is called, or what it is an item of: `loaders` for ``self.parts["loaders"][phase]``."""
    while isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield node.slice.value
        node = node.value
    yield (dotted_path(node) or "").rpartition(".")[2]


def is_called_loader(node: ast.expr) -> bool:
    """``train_loader``, ``loaders["train"]``, ``dataloader_train``."""
    return any(_LOADER.search(each.lower()) is not None for each in names_of_item(node))


def last_name(node: ast.expr) -> str:
    """The name that a call goes by: ``f`` for ``f`` and ``x[0].f``; empty for what has none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def words_in(node: ast.AST) -> Iterator[str]:
    """The names and attributes that code is written with: `args` and `use_cuda` of ``args.use_cuda``."""
    return (last_name(each) for each in inside(node) if isinstance(each, (ast.Name, ast.Attribute)))


def is_one_of(name: str, configured: tuple[str, ...]) -> bool:
    """Whether a public name is among dotted names of the settings; a relative import gives only their end."""
    if not configured or not name:
        return False
    plain = name.lstrip(".")
    return any(plain == each or each.endswith(f".{plain}") for each in configured)


def places_in(call: ast.Call) -> list[ast.expr]:
    """Where a call puts what it makes or moves: the argument of ``x.to(..)``, or its ``device``."""
    moves = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    return [each.value for each in call.keywords if each.arg == "device"] + (call.args[:1] if moves else [])


@once_a_node
def defaults(node: AnyFunction) -> list[tuple[str, ast.expr | None]]:
    """Each parameter that has a default, with it."""
    spec = node.args
    positional = positional_names(node)
    pairs: list[tuple[str, ast.expr | None]] = []
    if spec.defaults:
        pairs += list(zip(positional[-len(spec.defaults) :], spec.defaults, strict=True))
    pairs += [(each.arg, default) for each, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default]
    return pairs


def whole_of(node: ast.expr) -> ast.expr:
    """What subscripts take a part out of: ``x`` of ``x["state_dict"][0]``; any other expression itself."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def root_name(node: ast.expr) -> str:
    """The name that a chain of attributes and items starts with: `holder` of ``holder.parts[0]``; empty for others."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def stem_of(node: ast.expr) -> ast.expr:
    """The name or attribute that a chain of method calls starts with."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node
