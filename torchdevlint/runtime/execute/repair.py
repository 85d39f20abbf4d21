"""What an exception says of the values that caused it: descriptions that are likelier to work, for one slot each.

The texts are those of PyTorch and of Python's interpreter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchdevlint.runtime.execute import asked
from torchdevlint.runtime.execute.changes import Change, Values, leaves_of, tensors_of
from torchdevlint.runtime.execute.errors import text_of
from torchdevlint.runtime.execute.values import SIZE, Description, tensor

_OF_A_KIND = re.compile(
    r"'(int|float|bool|str|list|tuple|dict|Tensor)' object|^(int|float|str|list) is not a Module subclass"
)
MOST_ITEMS = 6
"""Of a list that is made longer."""


def repairs(error: BaseException, values: Values) -> Iterator[Change]:
    """Changes of one slot that `error` suggests, the likeliest first: those of the kind of value that it names."""
    text = text_of(error)
    leaves = list(leaves_of(values))
    found = list(_suggested(text, values, leaves))
    named = _OF_A_KIND.search(text)
    if named is None:
        return iter(found)
    kinds = {path: asked.kind_of(one) for path, one in leaves}
    return iter(sorted(found, key=lambda change: kinds[change[0]] != (named[1] or named[2])))


def _suggested(text: str, values: Values, leaves: Sequence[Change]) -> Iterator[Change]:
    yield from asked.for_kinds(text, leaves)
    for pattern, suggest in _RULES:
        found = pattern.search(text)
        if found is not None:
            yield from suggest(found, values)
    yield from asked.for_words(text, leaves)


def _to_integers(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in tensors_of(values, integer=False):
        yield key, {**description, "dtype": "int64"}


def _to_floats(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in tensors_of(values, integer=True):
        yield key, {**description, "dtype": "float32"}


def _to_booleans(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in tensors_of(values):
        if description["dtype"] != "bool":
            yield key, {**description, "dtype": "bool"}


def _rank(rank: int) -> Callable[[re.Match[str], Values], Iterator[Change]]:
    def suggest(_found: re.Match[str], values: Values) -> Iterator[Change]:
        for key, description in tensors_of(values):
            if len(description["shape"]) != rank:
                yield key, {**description, "shape": _of_rank(description["shape"], rank)}

    return suggest


def _told_rank(found: re.Match[str], values: Values) -> Iterator[Change]:
    yield from _rank(_number_in(found))(found, values)


def _other_of_a_layer(found: re.Match[str], values: Values) -> Iterator[Change]:
    """``For unbatched 2-D input, hx should also be 2-D but got 3-D tensor``: the input may have another rank."""
    yield from _rank(5 - _number_in(found))(found, values)


def _of_rank(shape: list[int], rank: int) -> list[int]:
    return [*shape, *[SIZE] * (rank - len(shape))][:rank] if len(shape) < rank else shape[:rank]


def _other_rank(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in tensors_of(values):
        rank = len(description["shape"])
        for other in (rank + 1, rank - 1):
            if 0 < other < 6:
                yield key, {**description, "shape": _of_rank(description["shape"], other)}


def _higher(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in tensors_of(values):
        if len(description["shape"]) < 5:
            yield key, {**description, "shape": [*description["shape"], SIZE]}


def _last(found: re.Match[str], values: Values) -> Iterator[Change]:
    """The last dimension has to be the number that is told."""
    size = _number_in(found)
    for key, description in tensors_of(values):
        if description["shape"] and description["shape"][-1] != size:
            yield key, {**description, "shape": [*description["shape"][:-1], size]}


def _told_size(found: re.Match[str], values: Values) -> Iterator[Change]:
    """``Shape mismatch at dimension 1: expected 2, got 8``"""
    place, size = int(found[1]), int(found[2])
    for key, description in tensors_of(values):
        shape = description["shape"]
        if place < len(shape) and shape[place] != size:
            yield key, {**description, "shape": [*shape[:place], size, *shape[place + 1 :]]}


def _told_shape(found: re.Match[str], values: Values) -> Iterator[Change]:
    """``points must have shape (N, 2)``: a letter is any size."""
    wanted = [int(each) if each.isdigit() else SIZE for each in re.split(r"\s*[,x]\s*", found[1].strip(" ,"))]
    for key, description in tensors_of(values):
        if description["shape"] != wanted:
            yield key, {**description, "shape": wanted}


def _number_in(found: re.Match[str]) -> int:
    return int(next(text for text in found.groups() if text))


def _channels(found: re.Match[str], values: Values) -> Iterator[Change]:
    size = _number_in(found)
    for key, description in tensors_of(values):
        shape = description["shape"]
        if len(shape) > 1 and shape[1] != size:
            yield key, {**description, "shape": [shape[0], size, *shape[2:]]}
        if len(shape) > 2 and shape[0] != size:
            yield key, {**description, "shape": [size, *shape[1:]]}


def _dimension(found: re.Match[str], values: Values) -> Iterator[Change]:
    """``The size of tensor a (8) must match the size of tensor b (3) at non-singleton dimension 1``."""
    one, other, place = int(found[1]), int(found[2]), int(found[3])
    for key, description in tensors_of(values):
        shape = description["shape"]
        for wanted in (one, other, 1):
            for at in dict.fromkeys((place, len(shape) - 1, 0)):
                if 0 <= at < len(shape) and shape[at] != wanted:
                    yield key, {**description, "shape": [*shape[:at], wanted, *shape[at + 1 :]]}


def _larger(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in tensors_of(values, integer=False):
        shape = description["shape"]
        if len(shape) >= 3 and max(shape[-2:]) < 64:
            head = shape[:-2] if len(shape) > 3 else shape[:-1]
            tail = [64, 64] if len(shape) > 3 else [64]
            yield key, {**description, "shape": [*head, *tail]}


def _to_list(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in leaves_of(values):
        if description["is"] in ("tensor", "value"):
            item = description if description["is"] == "tensor" else tensor(SIZE, SIZE)
            yield key, {"is": "list", "of": [item, item]}


def _unpacked(found: re.Match[str], values: Values) -> Iterator[Change]:
    """``h, w = size``, ``b, n = x.shape`` and ``first, second = x``: as many as there are names for."""
    count = _number_in(found)
    for key, description in leaves_of(values):
        if description["is"] in ("list", "tuple") and 0 < len(description["of"]) != count:
            items = [*description["of"], *[description["of"][-1]] * count][:count]
            yield key, {**description, "of": items}
        elif _is_number(description):
            yield key, {"is": "tuple", "of": [description] * count}
    for key, description in tensors_of(values):
        shape = description["shape"]
        if len(shape) != count:
            yield key, {**description, "shape": _of_rank(shape, count)}
        if shape and shape[0] != count:
            yield key, {**description, "shape": [count, *shape[1:]]}
            yield key, {"is": "tuple", "of": [description] * count}


def _to_numbers(_found: re.Match[str], values: Values) -> Iterator[Change]:
    """``size[0]``, ``len(size)``, ``h, w = size``: several numbers instead of one."""
    for key, description in leaves_of(values):
        if _is_number(description):
            yield from ((key, {"is": "tuple", "of": [description] * count}) for count in (2, 3))


def _longer(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in leaves_of(values):
        if description["is"] in ("list", "tuple") and 0 < len(description["of"]) < MOST_ITEMS:
            yield key, {**description, "of": [*description["of"], description["of"][-1]]}


def _is_number(description: Description) -> bool:
    return description["is"] == "value" and type(description["value"]) is int


def _told_sizes(found: re.Match[str], values: Values) -> Iterator[Change]:
    """``Shape mismatch, 8 != 64``: one of the sizes is the other."""
    one, other = int(found[1]), int(found[2])
    for key, description in tensors_of(values):
        shape = description["shape"]
        for at in reversed(range(len(shape))):
            if shape[at] in (one, other):
                yield key, {**description, "shape": [*shape[:at], one + other - shape[at], *shape[at + 1 :]]}


def _to_number(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in leaves_of(values):
        if description["is"] in ("tensor", "list", "namespace", "module", "function"):
            yield key, {"is": "value", "value": SIZE}


def _to_tensor(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in leaves_of(values):
        if description["is"] in ("value", "list", "namespace", "function", "module"):
            yield key, tensor(SIZE, SIZE)


def _to_callable(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in leaves_of(values):
        if description["is"] in ("tensor", "value", "namespace"):
            yield key, {"is": "function"}
            yield key, {"is": "module", "make": "nn.Linear(8, 8)"}


def _to_function(found: re.Match[str], values: Values) -> Iterator[Change]:
    """``CrossEntropyLoss.forward() missing 1 required positional argument``: something that is called otherwise."""
    for key, description in leaves_of(values):
        if description["is"] == "module" and str(description["make"]).startswith(f"nn.{found[1]}("):
            yield key, {"is": "function"}


def _with_gradient(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in tensors_of(values, integer=False):
        if not description.get("grad"):
            yield key, {**description, "grad": True}


def _missing_key(found: re.Match[str], values: Values) -> Iterator[Change]:
    missing = found[1] or found[2]
    for key, description in leaves_of(values):
        if description["is"] == "dict" and missing not in description["of"]:
            yield key, {"is": "dict", "of": {**description["of"], missing: tensor(SIZE, SIZE)}}
        elif description["is"] in ("tensor", "namespace"):
            yield key, {"is": "dict", "of": {missing: tensor(SIZE, SIZE)}}


def _to_namespace(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in leaves_of(values):
        if description["is"] in ("tensor", "value", "function", "list", "loader"):
            yield key, {"is": "namespace"}


def _one_number(_found: re.Match[str], values: Values) -> Iterator[Change]:
    for key, description in tensors_of(values):
        yield key, {**description, "shape": []}
    yield from _to_number(_found, values)


_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Values], Iterator[Any]]], ...] = tuple(
    (re.compile(pattern), suggest)
    for pattern, suggest in (
        (
            r"scalar types?:? Long|expected scalar type Long|used as indices|[Ii]ndex.*(int64|dtype)|LongTensor",
            _to_integers,
        ),
        (r"'Int'|\"?not implemented for 'Float'|must be.*integral|expects.*integer", _to_integers),
        (
            r"not implemented for '(Long|Bool|Int)'|[Ff]loating point|Long can't be cast|only be a floating|got Long",
            _to_floats,
        ),
        (
            r"dtype for input could not be inferred|same dtype|expected m1 and m2|scalar type Float but found Long",
            _to_floats,
        ),
        (r"[Bb]ool(ean)? (tensor|dtype|mask)|must be a bool|expected a .*Bool", _to_booleans),
        (
            r"\(expected (\d), got \d\)|\(expected (\d)\)",
            _told_rank,
        ),
        (r"[Ee]xpected (\d) dimensions,? got \d", _told_rank),
        (r"[Ff]or (?:un)?batched (\d)-D input, hx.* got \(?\d-D", _other_of_a_layer),
        (r"to unpack \(expected (\d+)", _unpacked),
        (
            r"cannot unpack non-iterable int|'int' object is not (?:subscriptable|iterable)|'int' has no len",
            _to_numbers,
        ),
        (r"must be an iterable, not int|with an iterable, but got int", _to_numbers),
        (r"(?:list|tuple) index out of range", _longer),
        (r"expand\(torch.*size=\[\]\)", _rank(0)),
        (r"[Ss]hape mismatch, (\d+) != (\d+)", _told_sizes),
        (r"at dimension (\d+): expected (\d+), got \d+", _told_size),
        (r"expected (\d) dims|number of subscripts in the equation \((\d)\) does not match", _told_rank),
        (r"shape (?:of )?[\[(]((?:[A-Z*]\w*|\d+)(?:(?:, ?|x)(?:[A-Z*]\w*|\d+))*,?)[\])]", _told_shape),
        (r"B ?x ?C ?x ?H ?x ?W|\([BN], ?C, ?H, ?W\)|'B', 'C', 'H', 'W'", _rank(4)),
        (
            r"Expected (\d)D.*input|expected (?:to be )?(\d)D|Expected.*?(\d)-?[dD]",
            _told_rank,
        ),
        (r"conv2d|4D input|max_pool2d", _rank(4)),
        (r"conv1d|batch1 must be a 3D|batch2 must be a 3D|bmm|3D tensor", _rank(3)),
        (r"conv3d|5D input", _rank(5)),
        (r"must be a 2-?D|2D tensors? expected|expected 2D|self must be a matrix|2-dimensional", _rank(2)),
        (r"1D target|1D tensors? expected|0D or 1D|multi-target", _rank(1)),
        (r"mat1 and mat2 shapes cannot be multiplied \(\d+x\d+ and (\d+)x\d+\)", _last),
        (r"input_size\. Expected (\d+), got|inconsistent input_size:? got \d+,? expected (\d+)", _last),
        (r"normalized_shape=\[(?:\d+, )*(\d+)\]|expected input with shape \[\*, (\d+)\]", _last),
        (r"to have (\d+) channels", _channels),
        (r"running_mean should contain \d+ elements not (\d+)|number of channels.*?(\d+)", _channels),
        (
            r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
            _dimension,
        ),
        (
            r"Kernel size can't be greater|Output size is too small|padding size should be less|must be greater than",
            _larger,
        ),
        (r"Dimension out of range|too many indices|not enough values to unpack|must have at least", _higher),
        (r"shape '.*' is invalid|must match|[Ss]izes? of tensors|dimension", _other_rank),
        (
            r"integer tensors of a single element|cannot be interpreted as an integer|must be real number|must be int",
            _to_number,
        ),
        (r"(?:must|should) be (?:an? )?(?:positive )?int|must be tuple of ints|\(item \d+ is 'Tensor'\)", _to_number),
        (r"combination of arguments - got \([^)]*\bTensor\b", _to_number),
        (r"can be converted to|item\(\)|Boolean value of Tensor with more than one|only one element", _one_number),
        (r"object is not iterable|can only concatenate list|must be tuple of Tensors|expected a sequence", _to_list),
        (r"object is not callable", _to_callable),
        (r"(\w+)\.forward\(\) (?:missing|takes)", _to_function),
        (
            r"'(?:int|float|str|NoneType|list|tuple|dict)' object has no attribute '(?:shape|size|dim|dev|dty|view)",
            _to_tensor,
        ),
        (r"'Tensor' object has no attribute|has no attribute '(\w+)'", _to_namespace),
        (r"does not require grad|one of the differentiated Tensors", _with_gradient),
        (r"^'(\w+)'$|no such key: (\w+)", _missing_key),
    )
)
