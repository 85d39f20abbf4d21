"""What annotations say of values: tensors, containers of tensors, and what a sequence holds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from torchdevlint.source.nodes import inside, nodes_in, once_a_node, parts_of_tuple
from torchdevlint.source.python import expression_of

_TENSOR_ANNOTATIONS = frozenset(
    """
    Tensor FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor ShortTensor CharTensor ByteTensor
    BoolTensor
    """.split()
)
_BY_SHAPE = frozenset({"TensorType"})
"""What torchtyping calls a tensor of a shape: ``TensorType["batch", 3]``."""
_SHAPED = frozenset(
    "Annotated Bool Complex Float Float16 Float32 Float64 Inexact Int Int32 Int64 Integer Num Real Shaped UInt".split()
)
"""What jaxtyping and `typing` put before a tensor and what else is said of it: ``Float[Tensor, "b c"]``."""


def annotated_tensor(annotation: ast.expr | None) -> bool:
    """Whether an annotation says tensor: ``Tensor``, ``torch.Tensor``, ``Optional[Tensor]``, ``Tensor | None``.

    Of a union, all say so, besides None. The function ``torch.tensor`` is no type, but says the same.
    """
    if annotation is None:
        return False
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        if "[" in annotation.value or "|" in annotation.value:
            return annotated_tensor(_parsed(annotation.value))
        return annotation.value.rpartition(".")[2].strip("\"' ") in _TENSOR_ANNOTATIONS
    if isinstance(annotation, ast.Attribute):
        said = f"{annotation_name(annotation.value)}.{annotation.attr}"
        return annotation.attr in _TENSOR_ANNOTATIONS or said in ("torch.tensor", "nn.Parameter")
    if isinstance(annotation, ast.Name):
        return annotation.id in _TENSOR_ANNOTATIONS or annotation.id in _BY_SHAPE
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, (ast.Name, ast.Attribute)):
        name = annotation.value.id if isinstance(annotation.value, ast.Name) else annotation.value.attr
        inside = annotation.slice
        if isinstance(inside, ast.Constant) and isinstance(inside.value, str) and _says_shape(name):
            return True
        if isinstance(inside, ast.Tuple) and name in _SHAPED and inside.elts:
            return annotated_tensor(inside.elts[0])
        if isinstance(inside, ast.Tuple) and name == "Union":
            return _union_of_tensors(inside.elts)
        return name in _BY_SHAPE or (name == "Optional" and annotated_tensor(inside))
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _union_of_tensors([annotation.left, annotation.right])
    return False


def _says_shape(name: str) -> bool:
    """Whether a type is by its name one of tensors, of which a text says the shape: ``Float["b n d"]``.

    Who has tensors of torch alone gives jaxtyping's types such short names.
    """
    return name != "Annotated" and (name in _SHAPED or name.endswith("Tensor"))


def names_parameter(annotation: ast.expr | None) -> bool:
    """Whether an annotation says that it is a Parameter, which a Module registers where it is kept."""
    return annotation_name(annotation) == "Parameter"


def _union_of_tensors(members: list[ast.expr]) -> bool:
    """Whether each of them says tensor or None, and one says tensor."""
    said = [each for each in members if not (isinstance(each, ast.Constant) and each.value is None)]
    return bool(said) and all(map(annotated_tensor, said))


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.expr | None:
    """The expression that an annotation in quotes is."""
    try:
        return expression_of(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def contained_tensor(annotation: ast.expr | None) -> str | None:
    """``dict`` or ``list`` if an annotation says a mapping to, or a sequence of, tensors."""
    if not isinstance(annotation, ast.Subscript):
        return None
    name = annotation_name(annotation.value)
    parts = parts_of_tuple(annotation.slice)
    parts = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is Ellipsis)]
    if name in ("Dict", "dict", "Mapping", "OrderedDict", "MutableMapping") and len(parts) == 2:
        return "dict" if annotated_tensor(parts[1]) else None
    if name in ("List", "list", "Sequence", "Iterable", "Tuple", "tuple", "Iterator", "Set", "set"):
        return "list" if parts and all(annotated_tensor(part) for part in parts) else None
    return None


def element_annotation(annotation: ast.expr | None) -> ast.expr | None:
    """The annotation of the elements of a list or other sequence, else None."""
    if not isinstance(annotation, ast.Subscript):
        return None
    name, inside = annotation_name(annotation.value), annotation.slice
    if isinstance(inside, ast.Tuple):
        parts = [each for each in inside.elts if not (isinstance(each, ast.Constant) and each.value is Ellipsis)]
        alike = name in ("Tuple", "tuple") and len({ast.dump(each) for each in parts}) == 1
        return parts[0] if alike else None
    return inside if name in ("List", "list", "Sequence", "Iterable", "Set", "set") else None


def tuple_parts(annotation: ast.expr | None) -> list[ast.expr]:
    """The annotations of the parts of a tuple of a known length, ``Tuple[A, B]``; of anything else none."""
    if not isinstance(annotation, ast.Subscript) or annotation_name(annotation.value) not in ("Tuple", "tuple"):
        return []
    parts = parts_of_tuple(annotation.slice)
    return [] if any(isinstance(each, ast.Constant) and each.value is Ellipsis for each in parts) else parts


def without_none(annotation: ast.expr | None) -> ast.expr | None:
    """`T` of ``Optional[T]``, ``T | None`` and ``Union[T, None]``, in quotes too; what is no such union as it is."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        written = _parsed(annotation.value)
        return annotation if written is None or isinstance(written, ast.Constant) else without_none(written)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        members = [annotation.left, annotation.right]
    elif isinstance(annotation, ast.Subscript) and annotation_name(annotation.value) in ("Optional", "Union"):
        members = parts_of_tuple(annotation.slice)
    else:
        return annotation
    left = [each for each in members if not (isinstance(each, ast.Constant) and each.value is None)]
    return left[0] if len(left) == 1 else annotation


def annotation_name(annotation: ast.expr | None) -> str:
    """The last component of a plain annotation, or an empty string: ``torch.device`` gives ``device``."""
    if isinstance(annotation, ast.Attribute):
        return annotation.attr
    if isinstance(annotation, ast.Name):
        return annotation.id
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.rpartition(".")[2]
    return ""


def named_in(annotation: ast.expr | None) -> list[ast.expr]:
    """The types that an annotation is made of, those in quotes too: ``Foo`` and ``str`` of ``Dict[str, Foo]``."""
    if annotation is None:
        return []
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return named_in(_parsed(annotation.value))
    if isinstance(annotation, ast.Subscript):
        inside = parts_of_tuple(annotation.slice)
        return [name for part in inside for name in named_in(part)]
    if isinstance(annotation, ast.BinOp):
        return [*named_in(annotation.left), *named_in(annotation.right)]
    return [annotation] if isinstance(annotation, (ast.Name, ast.Attribute)) else []


def only_annotated(tree: ast.Module, words: Iterable[str]) -> frozenset[str]:
    """Those of `words` that a file says in imports and annotations alone: ``def f(model: pl.LightningModule)``."""
    bound, annotated, said = _words_of(tree)
    kept = (word for word in words if word in bound or word in annotated)
    return frozenset(word for word in kept if said.isdisjoint({word, *bound.get(word, ())}))


@once_a_node
def _words_of(tree: ast.Module) -> tuple[dict[str, set[str]], set[str], set[str]]:
    """The names that imports bind, by each word that they say; the words in annotations; those anywhere else."""
    bound: dict[str, set[str]] = {}
    imports: list[ast.Import | ast.ImportFrom] = [*nodes_in(tree, ast.Import), *nodes_in(tree, ast.ImportFrom)]
    for node in imports:
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        for each in node.names:
            for word in {*module.split("."), *each.name.split(".")}:
                bound.setdefault(word, set()).add(each.asname or each.name.partition(".")[0])
    annotations = {id(part) for each in _annotations_of(tree) for part in inside(each)}
    names = [(id(each), each.id) for each in nodes_in(tree, ast.Name)]
    names += [(id(each), each.attr) for each in nodes_in(tree, ast.Attribute)]
    given = [each.arg for each in nodes_in(tree, ast.arg)]
    given += [each.arg for each in nodes_in(tree, ast.keyword) if each.arg is not None]
    said = {word for place, word in names if place not in annotations}
    return bound, {word for place, word in names if place in annotations}, said.union(given)


def _annotations_of(tree: ast.Module) -> Iterator[ast.expr]:
    """The annotations of all parameters, results and variables of a file."""
    found = [each.annotation for each in nodes_in(tree, ast.arg)]
    found += [each.annotation for each in nodes_in(tree, ast.AnnAssign)]
    found += [each.returns for each in nodes_in(tree, ast.FunctionDef)]
    found += [each.returns for each in nodes_in(tree, ast.AsyncFunctionDef)]
    yield from (each for each in found if each is not None)
