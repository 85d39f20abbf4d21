"""What libcst's visitors are told: the findings of `check`, at nodes, and beliefs at the nodes that they are about."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import FullRepoManager, MetadataWrapper, PositionProvider

from tests.casefile import Case, sampled, settings_for
from torchdevlint import beliefs
from torchdevlint.config import ConfigError, Settings
from torchdevlint.engine import check_bytes, check_file
from torchdevlint.libcst import (
    Belief,
    DevicePlacementVisitor,
    DeviceProvider,
    FindingProvider,
    Origin,
    OriginProvider,
)
from torchdevlint.libcst.places import standing
from torchdevlint.rules import all_rules

ROOT = Path(__file__).parents[2]
LINTED = "import torch\n\nstate = torch.load('model.pt')\n"
EXPRESSIONS = """\
import torch
x = ((torch.zeros(3)))
é = (torch.zeros(3), "ü" + str(x), torch.ones(3).cuda())
pair = x, (x).cuda(),
total = sum (  y for y in (x, x)  )
lazy = ((y.cpu() for y in (x, x)))
print(*(x), **{"a": x}, sep=(x))
text = f"{x!r:>{9}}" "and" f"{x.cuda()}"
first, *rest = [*(x), *x]
@torch.compile  (fullgraph=True)
def f(a: torch.Tensor = (x), *args, device=("cuda"), **kw):
    return (yield a.to(device)), lambda b=(a): b[a, 1:2] @ (-a)
"""


def visited(text: str, filename: str | None = None, settings: Settings | None = None) -> DevicePlacementVisitor:
    visitor = DevicePlacementVisitor(filename, settings)
    MetadataWrapper(cst.parse_module(text)).visit(visitor)
    return visitor


def believed(text: str, cache: object = None) -> dict[str, Belief]:
    """What is believed of each piece of code, where it stands for the last time."""
    wrapper = MetadataWrapper(cst.parse_module(text), cache={} if cache is None else {DeviceProvider: cache})
    return {wrapper.module.code_for_node(node): each for node, each in wrapper.resolve(DeviceProvider).items()}


# --- findings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [2, pytest.param(10_000, marks=pytest.mark.network)])
def test_the_visitor_finds_what_check_finds_and_at_nodes(most: int) -> None:
    """Nearly all exactly; the others at what is around a name of a method, or a part of a comment.

    Looked at are so many cases of each rule; all of them, which takes a minute, where what is slow is run.
    """
    exact, inexact = 0, set()
    for number, (case, module) in enumerate(modules(most)):
        settings = settings_for(case.rule)
        visitor, wrapper = DevicePlacementVisitor("case.py", settings), MetadataWrapper(module, unsafe_skip_copy=True)
        wrapper.visit(visitor)
        expected = list(check_bytes(case.code.encode(), "case.py", settings).diagnostics)
        assert [each.diagnostic for each in visitor.findings] == expected, case.id
        assert visitor.problems == [], case.id
        if number % 10 == 0:
            plain = DevicePlacementVisitor("case.py", settings)
            module.visit(plain)
            assert plain.findings == visitor.findings, case.id
        places = dict(standing(wrapper.resolve(PositionProvider))) if expected else {}
        for finding in visitor.findings:
            assert finding.node is not None, case.id
            span, place = finding.diagnostic.span, places[finding.node]
            exact += span == place
            if span != place:
                assert (place.row, place.column) <= (span.row, span.column), case.id
                assert (span.end_row, span.end_column) <= (place.end_row, place.end_column), case.id
                inexact.add((finding.diagnostic.code, type(finding.node)))
    assert exact > len(all_rules())
    assert inexact == {("TDL106", cst.FunctionDef), ("TDL900", cst.Comment), ("TDL902", cst.Comment)}


def modules(most: int) -> Iterator[tuple[Case, cst.Module]]:
    """Cases that are Python for libcst, so many of each rule; the others are cases of invalid syntax."""
    for case in sampled(most):
        try:
            yield case, cst.parse_module(case.code)
        except cst.ParserSyntaxError:
            assert case.rule == "TDL901", case.id


def test_a_finding_has_the_node_that_was_visited() -> None:
    wrapper, visitor = MetadataWrapper(cst.parse_module(LINTED)), DevicePlacementVisitor()
    wrapper.visit(visitor)
    (finding,) = visitor.findings
    assert finding.diagnostic.code == "TDL201"
    assert isinstance(finding.node, cst.Call)
    assert finding.node in wrapper.resolve(PositionProvider)
    plain, module = DevicePlacementVisitor(), cst.parse_module(LINTED)
    module.visit(plain)
    assert finding.node is not plain.findings[0].node
    assert module.code_for_node(plain.findings[0].node) == "torch.load('model.pt')"  # type: ignore[arg-type]


def test_findings_are_metadata_too() -> None:
    wrapper = MetadataWrapper(cst.parse_module(LINTED))
    found = wrapper.resolve(FindingProvider)
    (finding,) = found[wrapper.module]
    assert finding.node is not None
    assert found[finding.node] == (finding,)
    assert set(found) == {wrapper.module, finding.node}
    clean = MetadataWrapper(cst.parse_module("x = 1\n"))
    assert clean.resolve(FindingProvider) == {clean.module: ()}


def test_what_keeps_the_linter_from_its_job_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("torchdevlint.flow.analyse.analyse", broken)
    visitor = visited(LINTED)
    assert visitor.findings == []
    assert ["on purpose" in each.message for each in visitor.problems] == [True]
    with pytest.raises(RuntimeError, match="on purpose"):
        MetadataWrapper(cst.parse_module(LINTED)).resolve(FindingProvider)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_the_encoding_of_a_module_does_not_move_findings(encoding: str) -> None:
    text = f"# coding: {encoding.removesuffix('-sig')}\r\nimport torch\r\né = 'ü', torch.load('ö')\r\n"
    data = text.encode(encoding)
    for module in (cst.parse_module(data), cst.parse_module(text)):
        visitor = DevicePlacementVisitor("a.py")
        module.visit(visitor)
        assert [each.diagnostic for each in visitor.findings] == list(check_bytes(data, "a.py", Settings()).diagnostics)
        (finding,) = visitor.findings
        assert isinstance(finding.node, cst.Call)


# --- the file of a module -------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose settings leave TDL201 out of one file, and one of whose modules makes what another one uses."""
    (tmp_path / "torchdevlint.toml").write_text('[per-file-ignores]\n"quiet.py" = ["TDL201"]\n')
    (tmp_path / "made.py").write_text("import torch\n\n\ndef make():\n    return torch.zeros(3).cuda()\n")
    (tmp_path / "used.py").write_text("from made import make\n\nx = make()\n")
    for name in ("quiet.py", "loud.py"):
        (tmp_path / name).write_text(LINTED)
    return tmp_path


def test_a_repository_gives_files_and_settings(project: Path) -> None:
    for name, count in (("quiet.py", 0), ("loud.py", 1)):
        providers = {OriginProvider, FindingProvider}
        wrapper = FullRepoManager(project, [name], providers).get_metadata_wrapper_for_path(name)
        visitor = DevicePlacementVisitor()
        wrapper.visit(visitor)
        assert len(visitor.findings) == count
        assert all(each.diagnostic.filename == str(project / name) for each in visitor.findings)
        assert len(wrapper.resolve(FindingProvider)[wrapper.module]) == count
    assert len(visited(LINTED, str(project / "quiet.py")).findings) == 0
    assert len(visited(LINTED, str(project / "quiet.py"), Settings()).findings) == 1


def test_a_repository_gives_what_a_file_imports(project: Path) -> None:
    wrapper = FullRepoManager(project, ["used.py"], {DeviceProvider}).get_metadata_wrapper_for_path("used.py")
    (x,) = [each for each in wrapper.resolve(DeviceProvider).values() if each.text == "x"]
    assert (x.kind, x.device) == ("tensor", "cuda")
    text = (project / "used.py").read_text()
    assert believed(text)["x"].device is None
    assert believed(text, str(project / "used.py"))["x"].device == "cuda"
    assert believed(text, Origin(str(project / "used.py")))["x"].device == "cuda"


def test_a_configuration_that_cannot_be_used_is_an_error(project: Path) -> None:
    (project / "torchdevlint.toml").write_text('select = ["TDL999"]\n')
    with pytest.raises(ConfigError, match="TDL999"):
        visited(LINTED, str(project / "loud.py"))
    with pytest.raises(ConfigError, match="TDL999"):
        believed(LINTED, str(project / "loud.py"))
    with pytest.raises(TypeError, match="must be an Origin or a path, not int"):
        believed(LINTED, 3)


# --- beliefs --------------------------------------------------------------------------------------------------------


def test_expressions_know_their_kind_device_and_history() -> None:
    found = believed("import torch\nx = torch.zeros(3, 4)\ny = x.cuda()\n")
    assert (found["x"].kind, found["x"].dimensions) == ("tensor", "2")
    assert found["x"].device is not None
    assert "CPU" in found["x"].device
    assert found["x.cuda()"].device == found["y"].device == "cuda"
    assert [note.span.row for note in found["y"].notes] == [2, 3]


def test_each_kind_of_expression_finds_its_belief() -> None:
    """Parentheses, tuples, generators, stars, parameters, and columns after what is more than one byte."""
    found, wrapper = {}, MetadataWrapper(cst.parse_module(EXPRESSIONS))
    for node, belief in wrapper.resolve(DeviceProvider).items():
        found[belief.span] = node
        if not isinstance(node, (cst.Param, cst.FunctionDef, cst.ImportAlias, cst.Tuple)):
            code = wrapper.module.code_for_node(node)
            assert bare(code) == bare(belief.text), (code, belief.text)
    missing = [
        each for each in beliefs.of_bytes(EXPRESSIONS.encode(), "a.py", Settings()).all if each.span not in found
    ]
    assert [each.text for each in missing] == ["a, 1:2"], "what libcst has no expression for"


def bare(code: str) -> str:
    """Without blanks, and without the parentheses and commas around, which libcst counts to an expression."""
    return "".join(code.split()).strip("(),")


def test_what_is_inside_of_an_f_string_is_told_of_the_whole() -> None:
    wrapper = MetadataWrapper(cst.parse_module('import torch\nx = torch.zeros(3)\ny = f"{x} {x.cuda()}"\n'))
    found = wrapper.resolve(DeviceProvider)
    (text,) = [each for node, each in found.items() if isinstance(node, cst.FormattedString)]
    assert text.text == 'f"{x} {x.cuda()}"'
    assert text.kind not in ("tensor", "unknown")
    assert [each.span.row for node, each in found.items() if each.text == "x"] == [2]


def test_names_of_attributes_and_arguments_are_no_values() -> None:
    text = "import torch\nx = torch.zeros(3)\ny = torch.add(input=x, other=x.data)\n"
    names = [node.value for node in MetadataWrapper(cst.parse_module(text)).resolve(DeviceProvider) if is_name(node)]  # type: ignore[attr-defined]
    assert "x" in names
    assert not {"zeros", "add", "input", "other", "data"} & set(names)


def is_name(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name)


@pytest.mark.parametrize("name", ["examples", "torchdevlint/libcst"])
def test_every_belief_of_a_device_finds_its_node(name: str) -> None:
    """And of the others all but what is no expression in libcst: slices, tuples as an index, names after `except`."""
    count = 0
    for path in sorted((ROOT / name).rglob("*.py")):
        data = path.read_bytes()
        module = cst.parse_module(data)
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True, cache={DeviceProvider: path})
        found = {each.span for each in wrapper.resolve(DeviceProvider).values()}
        believed_of = beliefs.of_bytes(data, str(path), Origin(str(path)).resolved()).all
        lost = [each for each in believed_of if each.span not in found]
        assert [each.text for each in lost if each.device is not None] == []
        assert len(lost) <= len(believed_of) / 20
        count += len(believed_of)
    assert count > 100


# --- libcst itself --------------------------------------------------------------------------------------------------


@pytest.mark.network
def test_the_visitor_finds_what_check_finds_in_ten_releases() -> None:
    """Those of the pinned releases that have the least code; they are fetched from the package index."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import corpus

    releases = sorted(corpus.load(ROOT / "scripts" / "ecosystem"), key=lambda release: release.lines)[:10]
    found = files = 0
    for release in releases:
        root = corpus.folder(release, corpus.default_cache())
        for path in corpus.python_files(root):
            try:
                module = cst.parse_module(path.read_bytes())
            except (cst.ParserSyntaxError, UnicodeDecodeError):
                continue
            visitor = DevicePlacementVisitor(str(path), Settings())
            module.visit(visitor)
            expected = check_file(str(path), Settings())
            assert [each.diagnostic for each in visitor.findings] == list(expected.diagnostics), path
            assert visitor.problems == list(expected.problems), path
            found += len(expected.diagnostics)
            files += 1
    assert files > 100
    assert found > 10


def test_the_examples_of_the_page_print_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "libcst.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 2
    for code, said in examples:
        exec(compile(code, "libcst.md", "exec"), {"__name__": "page"})
        assert capsys.readouterr().out == said
