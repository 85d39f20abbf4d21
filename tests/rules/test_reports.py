"""What the rules say about a fact: the thing, the cause, the symptom, and an edit that can be typed as it stands."""

from __future__ import annotations

import ast
import re

import pytest
from msgspec.structs import replace

from torchdevlint.flow.facts.checkpoints import CheckpointLoad, WrappedStateDict
from torchdevlint.flow.facts.common import Creation, Operand
from torchdevlint.flow.facts.devices import LateVisibleDevices, MalformedVisibleDevices
from torchdevlint.flow.facts.tensors import DeadLoopMove, DiscardedMove, MixedDevices
from torchdevlint.model import Report, Severity, Span
from torchdevlint.rules import (
    tdl001_unassigned_tensor_move,
    tdl002_dead_loop_move,
    tdl003_factory_in_forward,
    tdl201_load_without_map_location,
    tdl202_wrapped_state_dict,
    tdl203_optimizer_order,
    tdl301_late_cuda_visible_devices,
    tdl302_malformed_cuda_visible_devices,
    tdl312_generator_on_another_device,
)
from torchdevlint.rules.wording import LONGEST, code, edit, with_argument

AT, CREATED, FURTHER, OTHER = (Span(row, 1, row, 9) for row in (9, 3, 5, 1))
DEVICES = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def only(module: object, fact: object) -> Report:
    (report,) = module.check(fact)  # type: ignore[attr-defined]
    assert isinstance(report, Report)
    return report


def edits(text: str) -> list[str]:
    """The pieces of code that a sentence quotes, each of which must be Python."""
    quoted: list[str] = re.findall(r"`([^`]+)`", text)
    for piece in quoted:
        ast.parse(piece)
    return quoted


MOVE = DiscardedMove(AT, "labels", "to", "device", True, (("created by `torch.zeros` here", CREATED),))


def test_a_dropped_move_names_the_assignment() -> None:
    report = only(tdl001_unassigned_tensor_move, MOVE)
    assert report.span == AT
    assert report.message == "the result of `labels.to(device)` is thrown away: `labels` stays where it was"
    assert DEVICES in report.symptom
    assert edits(report.help) == ["labels = labels.to(device)"]
    assert [(note.message, note.span) for note in report.notes] == [("created by `torch.zeros` here", CREATED)]


@pytest.mark.parametrize(("method", "target"), [("cpu", ""), ("to", "'cpu'"), ("to", '"cpu"')])
def test_a_dropped_move_to_the_cpu_fails_later_and_otherwise(method: str, target: str) -> None:
    report = only(tdl001_unassigned_tensor_move, replace(MOVE, method=method, target=target))
    assert report.symptom.startswith("TypeError: can't convert cuda:0 device type tensor to numpy.")


def test_a_dropped_conversion_is_silent_and_moves_nothing() -> None:
    report = only(tdl001_unassigned_tensor_move, replace(MOVE, method="double", target="", moves=False))
    assert report.message.endswith("`labels` keeps its dtype")
    assert "nothing raises" in report.symptom


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (DeadLoopMove(AT, "t", "batch", "list", "device"), "batch = [t.to(device) for t in batch]"),
        (DeadLoopMove(AT, "t", "batch", "comprehension", "device"), "batch = [t.to(device) for t in batch]"),
        (
            DeadLoopMove(AT, "v", "batch", "dict", "d"),
            "batch = {key: v.to(d) for key, v in batch.items()}",
        ),
        (
            DeadLoopMove(AT, "v", "batch.items()", "dict", "d"),
            "batch = {key: v.to(d) for key, v in batch.items()}",
        ),
    ],
)
def test_a_dead_loop_names_the_comprehension_that_keeps_the_results(fact: DeadLoopMove, expected: str) -> None:
    report = only(tdl002_dead_loop_move, fact)
    assert DEVICES in report.symptom
    assert edits(report.help) == [expected]


CREATION = Creation("torch.zeros", "torch.zeros(2, 3)", CREATED, "forward", "Net.forward")
MIXED = MixedDevices(
    at=AT,
    operation="`+`",
    stayed=Operand("hidden", "the CPU", AT, (("created by `torch.zeros` here", CREATED),)),
    other=Operand("x", "the model's device", AT, (("an input of `forward`", OTHER),)),
    creations=(CREATION,),
    entry="forward",
    model_side=True,
    there="x.device",
)


def test_a_factory_is_reported_where_it_is_and_the_meeting_beside_it() -> None:
    report = only(tdl003_factory_in_forward, MIXED)
    assert report.span == CREATED
    assert "`torch.zeros` in `Net.forward`" in report.message
    assert "`x` is on the model's device" in report.message
    assert DEVICES in report.symptom
    assert edits(report.help) == ["torch.zeros(2, 3, device=x.device)"]
    assert [note.span for note in report.notes] == [AT, OTHER]


def test_a_second_factory_is_noted_once() -> None:
    further = replace(CREATION, text="torch.ones(2)", span=FURTHER)
    report = only(tdl003_factory_in_forward, replace(MIXED, creations=(CREATION, further, further)))
    assert report.span == CREATED
    assert [note.span for note in report.notes] == [AT, FURTHER, OTHER]


def test_a_table_has_the_error_of_an_index() -> None:
    report = only(tdl003_factory_in_forward, replace(MIXED, operation="indexing"))
    assert "indices should be either on cpu or on the same device as the indexed tensor (cpu)" in report.symptom


@pytest.mark.parametrize("function", ["torch.from_numpy", "torch.FloatTensor", "torch.Tensor", "torch.frombuffer"])
def test_what_takes_no_device_is_moved(function: str) -> None:
    creation = replace(CREATION, function=function)
    assert "append `.to(x.device)`" in only(tdl003_factory_in_forward, replace(MIXED, creations=(creation,))).help


def test_without_a_tensor_in_scope_no_edit_is_invented() -> None:
    assert only(tdl003_factory_in_forward, replace(MIXED, there=None)).help == "make it on the device of `x`"


@pytest.mark.parametrize(
    "fact",
    [
        replace(MIXED, creations=()),
        replace(MIXED, creations=(replace(CREATION, where="init"),)),
        replace(MIXED, creations=(replace(CREATION, where="function"),)),
        replace(MIXED, creations=(replace(CREATION, where="module"),)),
        replace(MIXED, entry="function"),
        replace(MIXED, entry="module"),
        replace(MIXED, entry="method", model_side=False),
    ],
    ids=["no-factory", "init", "function", "module", "in-a-function", "in-a-module", "method-with-an-argument"],
)
def test_what_is_not_made_on_the_way_of_forward_is_left_to_other_rules(fact: MixedDevices) -> None:
    assert not list(tdl003_factory_in_forward.check(fact))


def test_another_method_counts_when_it_meets_the_model() -> None:
    creation = replace(CREATION, where="method")
    assert only(tdl003_factory_in_forward, replace(MIXED, entry="method", creations=(creation,))).span == CREATED


LOAD = CheckpointLoad(AT, "torch.load", "torch.load(path)", only_state_dict=True, rank_code=False)


def test_a_load_names_the_call_to_write() -> None:
    report = only(tdl201_load_without_map_location, LOAD)
    assert report.severity is None
    assert "Attempting to deserialize object on a CUDA device" in report.symptom
    assert edits(report.help)[0] == 'torch.load(path, map_location="cpu")'
    assert "the device that uses the tensors" not in report.help


def test_a_load_whose_tensors_are_used_as_they_are_may_go_elsewhere() -> None:
    assert (
        "the device that uses the tensors"
        in only(tdl201_load_without_map_location, replace(LOAD, only_state_dict=False)).help
    )


def test_in_rank_code_a_load_is_an_error_that_fills_one_gpu() -> None:
    report = only(tdl201_load_without_map_location, replace(LOAD, rank_code=True))
    assert report.severity is Severity.ERROR
    assert "every rank" in report.symptom


def test_a_scripted_module_has_another_error() -> None:
    report = only(tdl201_load_without_map_location, replace(LOAD, function="torch.jit.load"))
    assert report.symptom.startswith("NotImplementedError: Could not run 'aten::empty_strided'")


WRAPPED = WrappedStateDict(AT, "save", "DataParallel", "module.", "model", CREATED, conditional=False)


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (WRAPPED, "model.module.state_dict()"),
        (replace(WRAPPED, prefix="_orig_mod.", wrapper="torch.compile"), "model._orig_mod.state_dict()"),
        (replace(WRAPPED, conditional=True), 'getattr(model, "module", model).state_dict()'),
    ],
)
def test_a_wrapper_that_is_saved_names_the_model_inside(fact: WrappedStateDict, expected: str) -> None:
    report = only(tdl202_wrapped_state_dict, fact)
    assert edits(report.help) == [expected]
    assert f'Unexpected key(s) in state_dict: "{fact.prefix}' in report.symptom
    assert [note.span for note in report.notes] == [CREATED]
    assert ("sometimes" in report.message) is fact.conditional


def test_a_wrong_prefix_at_the_load_shows_where_the_file_was_written() -> None:
    report = only(tdl202_wrapped_state_dict, replace(WRAPPED, direction="load", saved_at=FURTHER))
    assert "do not agree on the prefix `module.`" in report.message
    assert "consume_prefix_in_state_dict_if_present" in report.help
    assert [note.span for note in report.notes] == [CREATED, FURTHER]


@pytest.mark.parametrize(("effect", "done"), [("freezes", "reads the list"), ("initialises", "initialises CUDA")])
def test_a_late_variable_names_what_was_first(effect: str, done: str) -> None:
    fact = LateVisibleDevices(AT, 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"', "model.cuda()", CREATED, effect)
    report = only(tdl301_late_cuda_visible_devices, fact)
    assert done in report.message
    assert edits(report.help) == ['os.environ["CUDA_VISIBLE_DEVICES"] = "1"', "model.cuda()"]
    assert [note.span for note in report.notes] == [CREATED]


@pytest.mark.parametrize(
    ("problem", "found", "suggestion", "symptom"),
    [
        ("name", "CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICES", "nothing raises"),
        ("value", "1", '"1"', "TypeError: str expected"),
        ("arguments", '"2", "3"', '"2,3"', "TypeError: _Environ.setdefault()"),
    ],
)
def test_a_malformed_variable_names_what_to_write(problem: str, found: str, suggestion: str, symptom: str) -> None:
    report = only(tdl302_malformed_cuda_visible_devices, MalformedVisibleDevices(AT, problem, found, suggestion))
    assert report.symptom.startswith(symptom)
    assert edits(report.help) == [suggestion]


def test_quoted_code_stays_on_one_line() -> None:
    assert code("torch.cat([\n    a,\n    b,\n])") == "`torch.cat([ a, b, ])`"
    long = code("x" * 200)
    assert len(long) <= LONGEST + 2
    assert "..." in long
    assert edit("y = " + "x" * 200 + "\n") == f"`y = {'x' * 200}`"


@pytest.mark.parametrize(
    ("call", "edited"),
    [
        ("torch.zeros(2)", "torch.zeros(2, device=d)"),
        ("torch.zeros(2,)", "torch.zeros(2, device=d)"),
        ("f()", "f(device=d)"),
        ("torch.zeros(\n    2,\n)", None),
        (f"torch.zeros({'n' * 100})", None),
        ("torch.zeros", None),
    ],
)
def test_an_argument_is_added_where_it_can_be_written(call: str, edited: str | None) -> None:
    assert with_argument(call, "device=d") == edited


@pytest.mark.parametrize(
    ("named", "of"), [(False, "a generator of the CPU, since no device is named"), (True, "a generator of the CPU")]
)
def test_a_generator_that_names_the_cpu_is_not_said_to_name_nothing(named: bool, of: str) -> None:
    fact = tdl312_generator_on_another_device.GeneratorElsewhere(
        AT, "the default device", True, named, "torch.randn", CREATED, "`device`"
    )
    report = only(tdl312_generator_on_another_device, fact)
    assert report.message == f"{of}, by which `torch.randn(..)` draws for `device`"


def test_a_state_that_is_loaded_too_early_shows_where_its_optimizer_is_made() -> None:
    fact = tdl203_optimizer_order.OptimizerOrder(
        AT, "loaded", "optimizer.load_state_dict", "torch.optim.Adam", "model", "model.cuda()", FURTHER, made_at=CREATED
    )
    notes = only(tdl203_optimizer_order, fact).notes
    assert [(note.message, note.span) for note in notes] == [
        ("the `Adam` is made here", CREATED),
        ("`model` is moved here, and the state is not", FURTHER),
    ]
