"""One cause, one finding: every fact of mixed devices belongs to one rule, or to none."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from torchdevlint.flow.facts.common import Creation, Operand
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.model import Report, Severity, Span
from torchdevlint.rules import (
    tdl003_factory_in_forward,
    tdl004_mixed_device_operands,
    tdl009_legacy_tensor_type,
    tdl014_factory_mixed_with_argument,
    tdl101_unregistered_tensor_attribute,
)

AT, CREATED, FURTHER, OTHER = (Span(row, 1, row, 9) for row in (9, 3, 5, 1))
RULES = {
    "TDL003": tdl003_factory_in_forward,
    "TDL004": tdl004_mixed_device_operands,
    "TDL009": tdl009_legacy_tensor_type,
    "TDL014": tdl014_factory_mixed_with_argument,
    "TDL101": tdl101_unregistered_tensor_attribute,
}
CREATION = Creation("torch.ones", "torch.ones(2, 3)", CREATED, "function", "mask")
LEGACY = replace(CREATION, function="torch.FloatTensor", text="torch.FloatTensor([1.0])")
CONVERSION = replace(CREATION, function="torch.Tensor.type", text="y.type(torch.FloatTensor)")
FACT = MixedDevices(
    at=AT,
    operation="`+`",
    stayed=Operand("ones", "the CPU (default device)", AT, (("created by `torch.ones` here", CREATED),)),
    other=Operand("x", "the device of `x`", AT, (("argument `x` of `mask`", OTHER),)),
    creations=(CREATION,),
    entry="function",
    model_side=False,
    there="x.device",
    other_origin="argument",
)


def reports(fact: MixedDevices) -> dict[str, Report]:
    return {code: report for code, rule in RULES.items() for report in rule.check(fact)}


def at(where: str, attribute: str | None = None) -> tuple[Creation, ...]:
    return (replace(CREATION, where=where, attribute=attribute),)


@pytest.mark.parametrize(
    ("expected", "fact"),
    [
        ("TDL014", FACT),
        ("TDL014", replace(FACT, creations=at("module"))),
        ("TDL014", replace(FACT, creations=at("method"), entry="method")),
        ("TDL014", replace(FACT, creations=at("module"), entry="forward", model_side=True, other_origin="model")),
        ("TDL014", replace(FACT, other_origin="expression")),
        ("TDL004", replace(FACT, other_origin="literal")),
        ("TDL004", replace(FACT, creations=(LEGACY,), other_origin="literal")),
        ("TDL004", replace(FACT, creations=())),
        ("TDL004", replace(FACT, creations=(), entry="forward", model_side=True, other_origin="model")),
        ("TDL004", replace(FACT, creations=at("init", "scale"), entry="init", other_origin="expression")),
        ("TDL003", replace(FACT, creations=at("forward"), entry="forward", model_side=True, other_origin="model")),
        ("TDL003", replace(FACT, creations=at("forward"), entry="forward", other_origin="literal")),
        ("TDL003", replace(FACT, creations=at("method"), entry="method", model_side=True, other_origin="model")),
        ("TDL009", replace(FACT, creations=(CONVERSION,))),
        ("TDL101", replace(FACT, creations=at("init", "scale"), entry="forward", model_side=True)),
        ("TDL101", replace(FACT, creations=at("init", "scale"), entry="method")),
        ("TDL101", replace(FACT, creations=at("init", "scale"), other_origin="literal")),
    ],
)
def test_each_cause_has_its_rule(expected: str, fact: MixedDevices) -> None:
    assert list(reports(fact)) == [expected]


@pytest.mark.parametrize(
    "fact",
    [
        replace(FACT, creations=at("init", "scale"), entry="init", model_side=True, other_origin="model"),
        replace(FACT, creations=(), entry="init", model_side=True, other_origin="model"),
        replace(FACT, creations=at("init"), entry="forward", model_side=True, other_origin="model"),
    ],
    ids=["building", "building-without-factory", "kept-by-nothing-known"],
)
def test_where_nothing_is_moved_or_known_nothing_is_said(fact: MixedDevices) -> None:
    assert not reports(fact)


def test_no_fact_has_two_rules() -> None:
    places = [(), *(at(where, "x") for where in ("forward", "init", "method", "function", "module"))]
    origins = ("model", "argument", "expression", "literal")
    for creations, entry, model_side, origin in product(
        places, ("forward", "init", "method", "function", "module"), (False, True), origins
    ):
        fact = replace(FACT, creations=creations, entry=entry, model_side=model_side, other_origin=origin)
        assert len(reports(fact)) <= 1, fact


def test_the_causes_are_reported_where_they_are_edited() -> None:
    assert reports(FACT)["TDL014"].span == CREATED
    assert reports(replace(FACT, creations=()))["TDL004"].span == AT


def test_the_edit_of_a_factory_follows_the_argument() -> None:
    assert "`torch.ones(2, 3, device=x.device)`" in reports(FACT)["TDL014"].help
    assert "append `.to(x.device)`" in reports(replace(FACT, creations=(LEGACY,)))["TDL014"].help


def test_nothing_is_appended_to_a_constructor_of_the_cpu_that_may_be_given_a_tensor() -> None:
    report = reports(replace(FACT, creations=(replace(LEGACY, text="torch.FloatTensor(y)", of_tensor=True),)))["TDL014"]
    assert "`torch.as_tensor(.., dtype=torch.float32, device=x.device)`" in report.help
    assert report.fix is None
    assert reports(replace(FACT, creations=(LEGACY,)))["TDL014"].fix is not None


@pytest.mark.parametrize(
    ("origin", "severity"),
    [("argument", None), ("model", Severity.ERROR), ("literal", Severity.ERROR), ("expression", Severity.ERROR)],
)
def test_a_conversion_is_an_error_where_this_code_placed_the_other_side(origin: str, severity: Severity | None) -> None:
    converted = replace(FACT, creations=(CONVERSION,), other_origin=origin)
    assert reports(converted)["TDL009"].severity is severity


def test_a_constant_of_the_module_is_moved_where_it_is_used() -> None:
    assert "`ones.to(x.device)`" in reports(replace(FACT, creations=at("module")))["TDL014"].help


def test_one_attribute_is_one_finding_at_its_first_factory() -> None:
    first, second = replace(at("init", "table")[0], span=CREATED), replace(at("init", "table")[0], span=FURTHER)
    fact = replace(FACT, entry="forward", model_side=True, other_origin="model")
    assert reports(replace(fact, creations=(first, second)))["TDL101"].span == CREATED
    assert not reports(replace(fact, creations=(second, first)))
    other = replace(second, attribute="mask")
    assert reports(replace(fact, creations=(other, first)))["TDL101"].span == FURTHER


def test_an_attribute_is_registered_by_its_name() -> None:
    fact = replace(FACT, creations=at("init", "table"), entry="forward", model_side=True)
    assert '`self.register_buffer("table", tensor, persistent=False)`' in reports(fact)["TDL101"].help


def test_two_accelerators_have_their_own_symptom() -> None:
    stayed = Operand("a", "cuda:1", AT)
    other = Operand("b", "cuda:0", AT)
    report = reports(replace(FACT, creations=(), stayed=stayed, other=other, other_origin="literal"))["TDL004"]
    assert "found at least two devices, cuda:0 and cuda:1!" in report.symptom
    assert report.message == "`a` is on cuda:1 and `b` on cuda:0, and `+` needs them on one device"


def test_what_numpy_gives_is_on_the_cpu_whatever_the_default_device() -> None:
    made = replace(FACT, creations=(replace(CREATION, function="torch.from_numpy", text="torch.from_numpy(a)"),))
    assert "makes a tensor on the CPU" in reports(made)["TDL014"].message
    assert "makes a tensor on the default device" in reports(FACT)["TDL014"].message
