"""What every rule has to be, whoever adds it."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

from scripts.index import entry
from tests.casefile import lint, settings_for
from torchdevlint import index, rules
from torchdevlint.flow import checks
from torchdevlint.flow.facts import all_facts
from torchdevlint.flow.observers import told_by
from torchdevlint.model import Severity
from torchdevlint.rules import HEADINGS, Identity, Rule, all_rules, by_code, identified, tdl001_unassigned_tensor_move

FOLDER = Path(rules.__file__).parent
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)

IMPORTED = "import os\nimport torch\nfrom torch import nn\n\n"
"""What the fragments of the documentation take for granted."""

OF_APPLE = {"TDL506"}
"""What only a Mac can show; nothing simulates its types."""

each_rule = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


def test_the_founding_rules_are_there() -> None:
    founding = {"TDL001", "TDL002", "TDL003", "TDL201", "TDL202", "TDL301", "TDL302", "TDL900", "TDL901"}
    assert founding <= {rule.code for rule in all_rules()}


def test_codes_and_names_are_unique() -> None:
    for values in ([rule.code for rule in all_rules()], [rule.name for rule in all_rules()]):
        assert len(values) == len(set(values))


def test_an_exception_is_quoted_on_one_line() -> None:
    text = (
        "    RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. "
        "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
        "your storages to the CPU."
    )
    assert text in by_code()["TDL201"].doc.splitlines()
    missing = '        Missing key(s) in state_dict: "weight", "bias".'
    assert missing in by_code()["TDL202"].doc.splitlines(), "PyTorch breaks this text itself"


def test_every_module_beside_the_registry_is_a_rule() -> None:
    shared = {"__init__", "record", "modules", "wording", "mixed", "edits", "left_behind"}
    files = {path.stem for path in FOLDER.glob("*.py")} - shared
    assert files == {f"{rule.code.lower()}_{rule.name.replace('-', '_')}" for rule in all_rules()}


def test_every_fact_has_a_rule() -> None:
    subscribed = {fact for rule in all_rules() for fact in rule.facts}
    assert subscribed >= set(all_facts().values())


@each_rule
def test_the_index_tells_of_a_rule_what_its_module_says(rule: Rule) -> None:
    """By it a run knows when to import the module."""
    told = {table: set(keys.split()) for table, keys in index.RULES[rule.module.rpartition(".")[2]].items()}
    assert told == {table: set(keys) for table, keys in entry(rule).items()}, "run `python scripts/docs.py`"


def test_the_index_tells_of_checks_what_their_modules_say() -> None:
    """And no two kinds of events or facts go by one name there."""
    modules = [import_module(each.name) for each in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}.")]
    looking = {name: told for module in modules if (told := told_by(module).tables) and (name := module.__name__)}
    told = {name: {table: set(keys.split()) for table, keys in each.items()} for name, each in index.CHECKS.items()}
    wanted = {name: {table: set(keys) for table, keys in each.items()} for name, each in looking.items()}
    assert {f"{checks.__name__}.{name}": each for name, each in told.items()} == wanted, "run `python scripts/docs.py`"
    facts = {fact for rule in all_rules() for fact in rule.facts}
    assert len({fact.__name__ for fact in facts}) == len(facts)
    kinds = {kind for module in modules for kind in getattr(module, "EVENTS", {})}
    assert len({kind.__name__ for kind in kinds}) == len(kinds)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("EXECUTION", "operations", "EXECUTION is none of operation, "),
        ("SEVERITY", "error", "SEVERITY is no Severity: 'error'"),
        ("__doc__", "", "lacks a docstring"),
    ],
)
def test_what_a_rule_declares_is_checked(name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = all_rules()
    monkeypatch.setattr(tdl001_unassigned_tensor_move, name, value)
    all_rules.cache_clear()
    with pytest.raises(ValueError, match=f"tdl001_unassigned_tensor_move.*{message}"):
        all_rules()
    monkeypatch.undo()
    assert all_rules() == before


@each_rule
def test_the_documentation_has_the_fixed_headings(rule: Rule) -> None:
    sections = rule.sections()
    assert tuple(heading for heading in sections if heading) == HEADINGS
    assert all(text for text in sections.values()), [heading for heading, text in sections.items() if not text]
    assert rule.summary.endswith(".")
    assert len(rule.summary) <= 120


@each_rule
def test_the_code_names_its_severity_and_pattern(rule: Rule) -> None:
    assert isinstance(rule.severity, Severity)
    assert re.fullmatch(r"TDL\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)


@each_rule
def test_the_probe_is_a_program(rule: Rule) -> None:
    if rule.probe is None:
        assert rule.code in {"TDL900", "TDL901", "TDL902", "TDL903", *OF_APPLE}, "what happens at run time can be shown"
    else:
        compile(rule.probe, f"{rule.code} probe", "exec")


@each_rule
def test_the_documented_example_is_found_and_the_better_one_is_not(rule: Rule) -> None:
    sections = rule.sections()
    settings = settings_for(rule.code)
    bad, good = BLOCK.findall(sections["Example"]), BLOCK.findall(sections["Use instead"])
    assert bad
    assert good
    for text in bad:
        assert rule.code in {one.code for one in lint(IMPORTED + text, settings)}, text
    for text in good:
        assert not lint(IMPORTED + text, settings), text


@each_rule
def test_what_a_rule_is_called_can_be_read_without_importing_it(rule: Rule) -> None:
    read = identified()[rule.code]
    assert type(read) is Identity
    assert read == Identity(rule.code, rule.name, rule.severity, rule.preview)
