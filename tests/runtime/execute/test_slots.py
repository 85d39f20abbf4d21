"""What is tried for a parameter: by its annotation, its default, its uses and its name."""

from __future__ import annotations

import ast
import enum
import inspect
import sys
import textwrap
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch", reason="values for the parameters are built with torch")

from torchdevlint.runtime.execute.documented import annotation
from torchdevlint.runtime.execute.slots import MODELS, Slot, candidates_for, slots_of
from torchdevlint.runtime.execute.usage import Usage, usages
from torchdevlint.runtime.execute.values import DEFAULT, Description, tensor, value

EMPTY = inspect.Parameter.empty
MATRIX, LABELS = tensor(8, 8), tensor(8, dtype="int64")
HERE = sys.modules[__name__]
WORDS = {"up": 1, "down": 2}


class Width(enum.Enum):
    NARROW = 1
    WIDE = 2


@dataclass
class Options:
    width: int
    dropout: float = 0.0
    names: list[str] = field(default_factory=list)


class Encoder:
    def __init__(self, hidden: int, options: Options) -> None:
        self.hidden, self.options = hidden, options


class Circle:
    def __init__(self, circle: Circle) -> None:
        self.circle = circle


def by_annotation(text: str, name: str = "thing") -> list[Description]:
    return candidates_for(name, text, Usage(), {}, EMPTY, HERE)


def slots(text: str, prefix: str = "", skip: int = 0) -> dict[str, Slot]:
    """The slots of the first function of a snippet."""
    module = ModuleType("snippet")
    source = textwrap.dedent(text)
    exec(compile(source, "snippet", "exec"), vars(module))
    node = next(each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef))
    return {slot.key: slot for slot in slots_of(vars(module)[node.name], node, prefix, skip)}


def first(text: str, key: str = "x") -> Description:
    return slots(text)[key].candidates[0]


@pytest.mark.parametrize(
    "text", ["Tensor", "torch.Tensor", "'torch.Tensor'", "Optional[torch.Tensor]", "torch.Tensor | None", "FloatTensor"]
)
def test_a_tensor_under_every_spelling(text: str) -> None:
    found = by_annotation(text)
    assert found[0] == MATRIX
    assert all(each["is"] == "tensor" for each in found)
    assert [len(each["shape"]) for each in found[:4]] == [2, 3, 4, 1]


@pytest.mark.parametrize(
    ("text", "dtype"), [("torch.LongTensor", "int64"), ("BoolTensor", "bool"), ("IntTensor", "int32")]
)
def test_a_tensor_of_a_type_is_of_that_type_only(text: str, dtype: str) -> None:
    assert {each["dtype"] for each in by_annotation(text)} == {dtype}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", [value(8), value(2), value(1)]),
        ("float", [value(0.5), value(1.0)]),
        ("bool", [value(False), value(True)]),
        ("str", [value("thing")]),
        ("int | None", [value(8), value(2), value(1)]),
        ("Union[str, None]", [value("thing")]),
        ("Annotated[int, 'a width']", [value(8), value(2), value(1)]),
        ("list[torch.Tensor]", [{"is": "list", "of": [MATRIX, MATRIX]}]),
        ("List[Tensor]", [{"is": "list", "of": [MATRIX, MATRIX]}]),
        ("Sequence[int]", [{"is": "list", "of": [value(8), value(8)]}]),
        ("tuple[torch.Tensor, ...]", [{"is": "tuple", "of": [MATRIX, MATRIX]}]),
        ("Tuple[torch.Tensor, int]", [{"is": "tuple", "of": [MATRIX, value(8)]}]),
        ("dict[str, torch.Tensor]", [{"is": "dict", "of": {"input": MATRIX, "target": MATRIX}}]),
        ("torch.device", [{"is": "device"}]),
        ("Callable[[torch.Tensor], torch.Tensor]", [{"is": "function"}]),
        ("typing.Callable", [{"is": "function"}]),
        ("nn.Module", [{"is": "module", "make": make} for make in MODELS]),
        ("Optional[torch.nn.Module]", [{"is": "module", "make": make} for make in MODELS]),
        ("DataLoader", [{"is": "loader", "of": [MATRIX, LABELS]}]),
        ("torch.optim.Optimizer", [{"is": "optimizer"}]),
        ("torch.Generator", [{"is": "generator"}]),
        ("Literal['mean', 'sum']", [value("mean"), value("sum")]),
        ("Optional[Literal[1, -1]]", [value(1), value(-1)]),
        ("Width", [{"is": "name", "of": f"{__name__}:Width.NARROW"}, {"is": "name", "of": f"{__name__}:Width.WIDE"}]),
    ],
)
def test_annotations(text: str, expected: list[Description]) -> None:
    assert by_annotation(text) == expected


ZERO_TO_ONE, TWO_SIZES, TWO_TENSORS = (
    {"is": "tuple", "of": [one, other]} for one, other in ((value(0.0), value(1.0)), (value(8), value(8)), [MATRIX] * 2)
)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("tuple", "clip_range", [ZERO_TO_ONE, TWO_SIZES, TWO_TENSORS]),
        ("typing.Tuple", "bounds", [ZERO_TO_ONE, TWO_SIZES, TWO_TENSORS]),
        ("Optional[tuple]", "input_shape", [TWO_SIZES, ZERO_TO_ONE, TWO_TENSORS]),
        ("tuple", "kernel_size", [{"is": "tuple", "of": [value(3), value(3)]}, ZERO_TO_ONE, TWO_TENSORS]),
        ("list", "images", [{"is": "list", "of": [one] * 2} for one in (MATRIX, value(8), value(0.5))]),
        ("List", "hidden_dims", [{"is": "list", "of": [one] * 2} for one in (value(8), MATRIX, value(0.5))]),
        ("dict", "thing", [{"is": "dict", "of": {"input": MATRIX, "target": MATRIX}}]),
    ],
)
def test_a_container_of_which_nothing_else_is_told(text: str, name: str, expected: list[Description]) -> None:
    assert by_annotation(text, name) == expected


@pytest.mark.parametrize("annotation", ["dict", "Mapping[str, Tensor]"])
def test_a_dict_has_the_keys_that_the_body_reads(annotation: str) -> None:
    uses = usages(ast.parse("return batch['image'] + batch['bias']").body)
    (found,) = candidates_for("batch", annotation, uses["batch"], uses, EMPTY, HERE)
    assert found == {"is": "dict", "of": {"image": MATRIX, "bias": MATRIX}}


def test_a_documented_container_is_one() -> None:
    text = """
        def f(x, clip_values):
            \"\"\"
            :param clip_values: Tuple of the form (min, max)
            :type clip_values: `tuple`
            \"\"\"
            low, high = clip_values
            return x.clamp(low, high)
        """
    assert slots(text)["clip_values"].candidates[0] == ZERO_TO_ONE


def test_a_union_is_all_of_its_parts() -> None:
    assert by_annotation("int | str") == [value(8), value(2), value(1), value("thing")]
    assert by_annotation("Union[Callable, bool]") == [{"is": "function"}, value(False), value(True)]


def test_an_array_is_none_of_torch() -> None:
    assert [each["is"] for each in by_annotation("np.ndarray")] == ["numpy"] * 3


@pytest.mark.parametrize("text", ["Any", "object", "torch.dtype", "Nosuch"])
def test_what_an_annotation_does_not_tell_is_taken_from_the_uses(text: str) -> None:
    assert by_annotation(text) == candidates_for("thing", "", Usage(), {}, EMPTY, HERE) != []


def test_a_literal_is_tried_as_what_it_is_compared_with() -> None:
    text = """
        from typing import Literal

        def f(x, reduction: Literal["avg", "sum"]):
            if reduction == "avg":
                return x
            elif reduction == "sum":
                return x + 1
        """
    assert slots(text)["reduction"].candidates[:2] == (value("avg"), value("sum"))


@pytest.mark.parametrize(
    "body",
    [
        "if how not in ('up', 'down'): raise KeyError",
        "if how in WORDS: pass",
        "if how not in WORDS.keys(): raise KeyError",
        "return {'up': 1, 'down': 2}[how]",
        "if how == 'up' or how == 'down': pass",
        "match how:\n    case 'up' | 'down': pass",
    ],
)
@pytest.mark.parametrize("annotation", ["", "str"])
def test_words_are_those_that_the_body_knows(body: str, annotation: str) -> None:
    uses = usages(ast.parse(body).body)
    found = candidates_for("how", annotation, uses["how"], uses, EMPTY, HERE)
    assert found[:2] == [value("up"), value("down")]


def test_words_of_the_body_come_after_a_default() -> None:
    text = """
        def f(x, how="mean"):
            return x if how == "mean" else x + 1 if how == "sum" else x - 1
        """
    assert slots(text)["how"].candidates == (DEFAULT, value("mean"), value("sum"))


def test_what_is_looked_for_in_a_tensor_is_no_word() -> None:
    uses = usages(ast.parse("x.sum(); y = 'a' in x; z = x in table").body)
    assert candidates_for("x", "", uses["x"], uses, EMPTY, HERE)[0] == MATRIX


def test_a_class_of_the_module_is_constructed() -> None:
    (made,) = by_annotation("Options")
    assert made["is"] == "instance"
    assert made["of"] == f"{__name__}:Options"
    assert made["with"] == {"width": value(8), "dropout": DEFAULT, "names": DEFAULT}
    (outer,) = by_annotation("Encoder")
    assert outer["with"]["options"]["with"]["width"] == value(8)


def test_constructors_are_followed_so_far_and_no_further() -> None:
    (made,) = by_annotation("Circle")
    depth = 0
    while made["is"] == "instance":
        made, depth = made["with"]["circle"], depth + 1
    assert depth == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("device", {"is": "device"}),
        ("target_device", {"is": "device"}),
        ("kernel_size", value(3)),
        ("hidden_size", value(8)),
        ("num_things", value(8)),
        ("use_bias", value(True)),
        ("config", {"is": "namespace", "asked": []}),
        ("criterion", {"is": "module", "make": "nn.CrossEntropyLoss()"}),
        ("optimizer", {"is": "optimizer"}),
        ("model", {"is": "module", "make": MODELS[0]}),
        ("train_loader", {"is": "loader", "of": [MATRIX, LABELS]}),
        ("labels", LABELS),
        ("mask", tensor(8, 8, dtype="bool")),
        ("lengths", tensor(8, dtype="int64", fill="lengths")),
        ("thing", MATRIX),
    ],
)
def test_names(name: str, expected: Description) -> None:
    assert candidates_for(name, "", Usage(), {})[0] == expected


def test_a_device_by_name_may_be_a_number() -> None:
    assert candidates_for("device", "int", Usage(), {})[0] == value(8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    b, c, h, w = x.shape", tensor(8, 8, 8, 8)),
        ("def f(x):\n    return x.transpose(1, 2)", tensor(8, 8, 8)),
        ("def f(x):\n    return torch.zeros(x)", value(8)),
        ("def f(x):\n    return y.to(x)", {"is": "device"}),
        ("def f(x):\n    return x(1)", {"is": "module", "make": MODELS[0]}),
        ("def f(fetch):\n    return fetch(1)", {"is": "function"}),
        ("def f(x):\n    return x.parameters()", {"is": "module", "make": MODELS[0]}),
        ("def f(x):\n    x.zero_grad(); x.step()", {"is": "optimizer"}),
        ("def f(x):\n    for k, v in x.items(): pass", {"is": "dict", "of": {"input": MATRIX, "target": MATRIX}}),
        ("def f(x):\n    if x == 'sum': pass", value("sum")),
        ("def f(x):\n    return x['a'] - x['label']", {"is": "dict", "of": {"a": MATRIX, "label": LABELS}}),
        ("def f(x):\n    for a, labels in x: pass", {"is": "loader", "of": [MATRIX, LABELS]}),
    ],
)  # fmt: skip
def test_uses(text: str, expected: Description) -> None:
    assert (
        next(iter(slots(text).values())).candidates[0] == expected
        or expected in next(iter(slots(text).values())).candidates[:2]
    )


def test_the_batches_of_a_loader_are_what_the_loop_takes_them_for() -> None:
    text = """
        def f(train_loader):
            for step, batch in enumerate(train_loader):
                y = batch["image"]
                z = batch["target"]
        """
    batch = {"is": "dict", "of": {"image": MATRIX, "target": LABELS}}
    assert first(text, "train_loader") == {"is": "loader", "of": [batch]}
    triple = "def f(loader):\n    for a, b, y in loader: pass\n"
    assert first(triple, "loader") == {"is": "loader", "of": [MATRIX, MATRIX, LABELS]}


def test_lengths_of_packed_sequences_stay_on_the_cpu() -> None:
    text = "def f(x, lengths):\n    return nn.utils.rnn.pack_padded_sequence(x, lengths)\n"
    assert first(text, "lengths") == {**tensor(8, dtype="int64", fill="lengths"), "on": "cpu"}
    assert "on" not in first("def f(x, lengths):\n    return x * lengths\n", "lengths")


def test_defaults_tell_and_may_stay() -> None:
    found = slots("def f(x, flag=False, width=3, name='a', other=None, *rest, key=2.5, **more): pass")
    assert list(found) == ["x", "flag", "width", "name", "other", "key"]
    assert not found["x"].optional
    assert found["flag"].candidates == (DEFAULT, value(True))
    assert found["width"].candidates == (DEFAULT, value(3))
    assert found["name"].candidates == (DEFAULT, value("a"))
    assert found["key"].candidates == (DEFAULT, value(2.5))
    assert found["other"].candidates[:2] == (DEFAULT, MATRIX)
    assert found["other"].optional


def test_a_default_comes_first_though_the_body_works_with_it() -> None:
    found = slots("def f(x, mask=None, noisy=False): return x + mask if noisy else x")
    assert found["mask"].candidates[:2] == (DEFAULT, tensor(8, 8, dtype="bool"))
    assert found["noisy"].candidates == (DEFAULT, value(True))


@pytest.mark.parametrize("loop", ["for i in range(3)", "for i, each in enumerate(rows)"])
def test_what_a_loop_counts_with_is_a_number(loop: str) -> None:
    found = candidates_for("i", "", usages(ast.parse(f"{loop}: rows[i].sum()").body)["i"], {})
    assert found == [value(0), value(1)]


def test_what_a_loop_takes_out_of_something_may_be_a_tensor() -> None:
    found = candidates_for("i", "", usages(ast.parse("for i in order: rows[i].sum(i)").body).get("i", Usage()), {})
    assert any(each["is"] == "tensor" for each in found)


def test_a_device_is_given_though_it_has_a_default() -> None:
    assert first("def f(device='cpu'): pass", "device") == {"is": "device"}


def test_keys_have_a_prefix_and_what_others_give_is_skipped() -> None:
    found = slots("def __init__(self, width): pass", prefix="init.", skip=1)
    assert [(slot.key, slot.name) for slot in found.values()] == [("init.width", "width")]


def test_what_has_no_signature_has_no_slots() -> None:
    assert slots_of(type, None) == []


def test_no_candidate_is_tried_twice() -> None:
    for name in ("thing", "labels", "mask", "n", "model", "x", "lengths", "config"):
        found: list[Any] = candidates_for(name, "", Usage(), {})
        assert all(each not in found[:place] for place, each in enumerate(found)), name


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("int", "int"),
        ("`tuple`", "tuple"),
        ("list of Tensors, optional", "list[Tensor]"),
        ("list(str)", "list[str]"),
        ("tuple of ints", "tuple[int, ...]"),
        (":class:`torch.Tensor`, default: None", "torch.Tensor"),
        ("int or float, *optional*", "int | float"),
        ("is instance of `torch.nn.Module`", "torch.nn.Module"),
        ("Tensor, shape (N, 2)", "Tensor"),
        ("Dict[str, Tensor]", "Dict[str, Tensor]"),
        ("numpy array", "ndarray"),
        ("optional", ""),
    ],
)
def test_a_documented_type_is_read_as_an_annotation(kind: str, expected: str) -> None:
    assert annotation(kind) == expected


SPHINX = """
    :param int rows: how many
    :param names: which
    :type names: list of strings
"""
GOOGLE = """
    Args:
        rows (int): how many
        names (list of strings, optional): which (not all)
"""
NUMPY = """
    Parameters
    ----------
    rows : int
        How many.
    names : list of strings, optional
"""


@pytest.mark.parametrize("text", [SPHINX, GOOGLE, NUMPY])
def test_without_an_annotation_the_docstring_is_believed_first(text: str) -> None:
    """Not alone: what comes without it comes after; and an annotation is believed more."""
    found = slots(f"def f(rows, names, other: str):\n    '''{text}'''\n    return rows")
    bare = slots("def f(rows, names, other: str):\n    return rows")
    words = {"is": "list", "of": [value("names"), value("names")]}
    assert found["names"].candidates == (words, *bare["names"].candidates)
    assert found["rows"].candidates[0] == value(8)
    assert found["other"] == bare["other"]


class Documented:
    """
    :type rows: int
    """

    def __init__(self, rows):  # type: ignore[no-untyped-def]
        self.rows = rows


@pytest.mark.parametrize("made", [Documented, Documented.__init__])
def test_a_class_documents_its_constructor(made: Any) -> None:
    assert {slot.name: slot for slot in slots_of(made, None)}["rows"].candidates[0] == value(8)


MAKES_MODULES = {"is": "name", "of": "torch.nn:Identity"}


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("type[nn.Module]", MAKES_MODULES),
        ("Type[torch.nn.Module]", MAKES_MODULES),
        ("Callable[..., nn.Module]", MAKES_MODULES),
        ("Optional[Callable[[int, int], nn.Module]]", MAKES_MODULES),
        ("Callable[[nn.Module], Tensor]", {"is": "function"}),
        ("Callable", {"is": "function"}),
        ("type[Encoder]", {"is": "name", "of": f"{__name__}:Encoder"}),
        ("nn.Module", {"is": "module", "make": MODELS[0]}),
    ],
)
def test_what_makes_a_module_is_a_class_of_them(text: str, first: Description) -> None:
    assert by_annotation(text)[0] == first


def test_a_class_that_is_not_known_is_none() -> None:
    assert {"is": "name"}.items() not in [each.items() for each in by_annotation("type[Unknown]")]
    assert by_annotation("type[Unknown]") == by_annotation("", "thing")


def test_what_draws_get_as_a_generator_is_one() -> None:
    found = slots("def noise(shape, rng):\n    return torch.rand(shape, generator=rng)")
    assert found["rng"].candidates[0] == {"is": "generator"}


def test_a_generator_that_is_called_is_a_model() -> None:
    found = slots("def sample(generator, z):\n    return generator(z)")
    assert found["generator"].candidates[0] == {"is": "module", "make": MODELS[0]}


def test_arrays_have_one_dimension_as_well() -> None:
    assert {"is": "numpy", "shape": [8]} in by_annotation("np.ndarray")
