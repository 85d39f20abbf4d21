"""What the rules on batches, NumPy, literal devices and containers say about a fact."""

from __future__ import annotations

import ast
import re

import pytest
from msgspec.structs import replace

from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.modules import ModulesInContainer
from torchdevlint.flow.facts.tensors import BatchNotMoved, IgnoresGivenDevice, ReadOnHost
from torchdevlint.model import Applicability, Report, Span
from torchdevlint.rules import (
    tdl005_batch_not_moved,
    tdl006_numpy_on_accelerator,
    tdl012_cuda_ignores_given_device,
    tdl102_modules_in_python_container,
)
from torchdevlint.rules.wording import operand

AT, LOADED, MOVED = (Span(row, 5, row, 20) for row in (9, 3, 5))


def only(module: object, fact: object) -> Report:
    (report,) = module.check(fact)  # type: ignore[attr-defined]
    assert isinstance(report, Report)
    return report


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


BATCH = BatchNotMoved(
    at=AT,
    operation="`criterion()`",
    name="labels",
    loaded_at=LOADED,
    other=Operand("output", "the model's device", AT, (("the model is moved here", MOVED), ("made here", AT))),
)


def test_a_batch_names_its_part_and_both_origins() -> None:
    report = only(tdl005_batch_not_moved, BATCH)
    assert report.span == AT
    assert "`labels` is where the loader made it, but `output` is on the model's device" in report.message
    assert quoted(report.help) == ["labels.to(device)"]
    assert [note.span for note in report.notes] == [LOADED, MOVED]


@pytest.mark.parametrize(("whole", "applied"), [(False, Applicability.UNSAFE), (True, Applicability.DISPLAY)])
def test_a_batch_that_may_hold_several_tensors_is_moved_by_hand(whole: bool, applied: Applicability) -> None:
    for before in (None, LOADED):
        report = only(tdl005_batch_not_moved, replace(BATCH, name_at=AT, here="device", whole=whole, before=before))
        assert report.fix is not None
        assert report.fix.applicability is applied


HOST = ReadOnHost(AT, "output.numpy()", Operand("output", "`device`", AT, (("moved here", MOVED),)), needs_detach=False)


@pytest.mark.parametrize(
    ("call", "value", "needs_detach", "expected"),
    [
        ("output.numpy()", "output", False, "output.cpu().numpy()"),
        ("output.numpy()", "output", True, "output.detach().cpu().numpy()"),
        ("output.detach().numpy()", "output.detach()", True, "output.detach().cpu().numpy()"),
        ("loss.data.numpy()", "loss.data", True, "loss.data.cpu().numpy()"),
        ("np.exp(loss)", "loss", True, "loss.detach().cpu()"),
        ("(a - b).numpy()", "a - b", False, "(a - b).cpu().numpy()"),
        ("np.mean(x[0, 1])", "x[0, 1]", False, "x[0, 1].cpu()"),
    ],
)
def test_the_copy_to_the_host_is_python(call: str, value: str, needs_detach: bool, expected: str) -> None:
    fact = replace(HOST, call=call, value=replace(HOST.value, text=value), needs_detach=needs_detach)
    report = only(tdl006_numpy_on_accelerator, fact)
    assert quoted(report.help) == [expected]
    ast.parse(expected)
    assert "convert cuda:0 device type tensor to numpy" in report.symptom
    assert [note.span for note in report.notes] == [MOVED]


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        (".cuda()", "x.device", ".to(x.device)"),
        (".cuda(non_blocking=True)", "self.device", ".to(self.device, non_blocking=True)"),
        ('"cuda:0"', "device", "device"),
        ("torch.cuda.LongTensor", "x.device", "device=x.device"),
    ],
)
def test_a_literal_device_gives_way_to_the_given_one(text: str, given: str, expected: str) -> None:
    fact = IgnoresGivenDevice(AT, text, given, f"`{given}` is known here", MOVED)
    report = only(tdl012_cuda_ignores_given_device, fact)
    assert quoted(report.help) == [expected]
    assert quoted(report.message) == [text, given]
    assert [(note.message, note.span) for note in report.notes] == [(f"`{given}` is known here", MOVED)]


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [("kept", "scale", "is used"), ("buffer", "self.scale", "is used"), ("passed", "mixed()", "uses it")],
)
def test_a_literal_device_that_another_function_shows_is_not_written_anew(kind: str, given: str, expected: str) -> None:
    fact = IgnoresGivenDevice(AT, ".cuda()", given, "`x` is used with it", MOVED, kind, "a.cuda()", bound=True)
    report = only(tdl012_cuda_ignores_given_device, fact)
    assert quoted(report.message) == [".cuda()", given]
    assert f"{expected} with what may be on another device" in report.message
    assert quoted(report.help) == []
    assert ("buffer" in report.help) == (kind == "buffer")
    assert report.fix is None


CONTAINER = ModulesInContainer(AT, "layers", "Net", "list", "modules", "nn.ModuleList", MOVED)


def test_a_container_names_the_class_that_registers() -> None:
    report = only(tdl102_modules_in_python_container, CONTAINER)
    assert report.message == "`self.layers` is a plain list of modules, unregistered in `Net`"
    assert "`nn.ModuleList`" in report.help
    assert "neither trained nor saved" in report.symptom
    assert [note.span for note in report.notes] == [MOVED]


def test_a_container_that_nobody_reads_has_no_note() -> None:
    assert only(tdl102_modules_in_python_container, replace(CONTAINER, used_at=None)).notes == ()


def test_a_comma_at_the_end_is_named() -> None:
    report = only(tdl102_modules_in_python_container, replace(CONTAINER, container="tuple", comma=True))
    assert report.message == "`self.layers` is a plain tuple of modules, unregistered in `Net`"
    assert "the comma at the end makes a tuple" in report.help


def test_a_container_in_the_place_of_a_module_raises() -> None:
    report = only(tdl102_modules_in_python_container, replace(CONTAINER, instead_of=AT))
    assert "a plain list of modules cannot take the place of the module" in report.message
    assert report.symptom.startswith("TypeError: cannot assign 'list' as child module 'layers'")
    assert [note.span for note in report.notes] == [AT, MOVED]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("x", "x"), ("f(a, b)[1, 2]", "f(a, b)[1, 2]"), ("a + b", "(a + b)"), ("-x", "(-x)"), ("x == 0", "(x == 0)")],
)
def test_only_what_binds_weaker_than_a_method_gets_parentheses(text: str, expected: str) -> None:
    assert operand(text) == expected
