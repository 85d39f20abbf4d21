"""`hunt` on a small package with bugs of every sort, and beside each of them what looks like it and is right."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from click.testing import CliRunner

from tests import forked
from tests.runtime.conftest import Offline
from torchdevlint.cli.commands import cli
from torchdevlint.cli.hunt import hunt as command
from torchdevlint.runtime.execute import described
from torchdevlint.runtime.hunt import compare, hunter, judge, machines, modes, order, placements, script, written
from torchdevlint.runtime.hunt.targets import Target, project_of

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked, and what is left is looked for")

SEEDED = {
    "__init__.py": "from seeded.bugs import factory\n",
    "bugs.py": """
        import numpy as np
        import torch
        from torch import nn

        TABLE = torch.arange(8.0)


        def factory(x: torch.Tensor) -> torch.Tensor:
            return x * torch.ones(x.shape[-1])


        def calls_factory(x: torch.Tensor) -> torch.Tensor:
            return factory(x) + 1


        def constant(x: torch.Tensor) -> torch.Tensor:
            return x + TABLE


        def with_arrays(x: torch.Tensor) -> torch.Tensor:
            return x * np.exp(x / 2)


        def another_result(x: torch.Tensor) -> torch.Tensor:
            return x * 2 if x.is_cuda else x


        class Branch(nn.Module):
            def __init__(self, dim: int, noisy: bool = False) -> None:
                super().__init__()
                self.layer, self.noisy = nn.Linear(dim, dim), noisy

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.layer(x + torch.randn(x.shape) if self.noisy else x)


        class Remembers(nn.Module):
            def __init__(self, dim: int) -> None:
                super().__init__()
                self.layer, self.mask = nn.Linear(dim, dim), None

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                if self.mask is None:
                    self.mask = torch.ones(x.shape, device=x.device)
                return self.layer(x) * self.mask


        class Reads(nn.Module):
            def __init__(self, dim: int) -> None:
                super().__init__()
                self.layer = nn.Linear(dim, dim)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.layer(x).to(next(self.parameters()).dtype)
    """,
    "right.py": """
        import numpy as np
        import torch
        from torch import nn


        def factory(x: torch.Tensor) -> torch.Tensor:
            return x * torch.ones(x.shape[-1], device=x.device)


        def on_the_host(x: torch.Tensor) -> list:
            return x.numpy().tolist()


        def lengths_belong_on_the_cpu(x: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
            return x * torch.as_tensor(sizes.numpy()).sum()


        def says_where(x: torch.Tensor, use_cuda: bool = False) -> torch.Tensor:
            return x * torch.ones(8, device=x.device if use_cuda else "cpu")


        def of_arrays(hz):
            return 2595 * np.log10(1 + hz / 700)


        def random(x: torch.Tensor) -> torch.Tensor:
            return x * torch.rand_like(x)


        def one_of_two(x: torch.Tensor) -> torch.Tensor:
            torch.rand(2, device=x.device)
            return x[torch.randperm(2)]


        def after_a_layer(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
            return x @ layer.weight.detach()


        class OfOneImage(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Conv2d(8, 8, 1)

            def forward(self, image: torch.Tensor) -> torch.Tensor:
                channels, height, width = image.shape
                return self.layer(image)


        class GivesAnObject(nn.Module):
            def __init__(self, dim: int) -> None:
                super().__init__()
                self.layer = nn.Linear(dim, dim)

            def forward(self, x: torch.Tensor) -> torch.distributions.Normal:
                return torch.distributions.Normal(self.layer(x), 1.0)


        class Registers(nn.Module):
            def __init__(self, dim: int) -> None:
                super().__init__()
                self.layer = nn.Linear(dim, dim)
                self.register_buffer("mask", torch.ones(dim))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.layer(x) * self.mask
    """,
}

HOSTILE = {
    "ends.py": "import os\nos._exit(3)\n",
    "leaves.py": "raise SystemExit('no')\n",
    "misses.py": "import a_package_that_nobody_has\n",
    "acts.py": """
        import os
        import socket
        import subprocess
        import sys
        import time

        import torch


        def writes(x: torch.Tensor) -> torch.Tensor:
            with open(os.path.join(os.path.dirname(__file__), "left.txt"), "w") as stream:
                stream.write("here")
            return x


        def connects(x: torch.Tensor) -> torch.Tensor:
            socket.create_connection(("127.0.0.1", 9))
            return x


        def starts(x: torch.Tensor) -> torch.Tensor:
            subprocess.run(["true"])
            return x


        def reads(x: torch.Tensor) -> torch.Tensor:
            assert sys.stdin.read() == ""
            return x * torch.ones(8)


        def hangs(x: torch.Tensor) -> torch.Tensor:
            time.sleep(1000)
            return x


        def dies(x: torch.Tensor) -> torch.Tensor:
            os.abort()
    """,
    "constructs.py": """
        import os
        import sys
        import time

        import torch
        from torch import nn


        class Built(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x * torch.ones(8)


        class Forks(Built):
            def __init__(self) -> None:
                super().__init__()
                if os.fork() == 0:
                    time.sleep(1000)


        class Exits(Built):
            def __init__(self) -> None:
                sys.exit("no")


        class Hangs(Built):
            def __init__(self) -> None:
                time.sleep(1000)


        class Writes(Built):
            def __init__(self) -> None:
                with open(os.path.join(os.path.dirname(__file__), "left.txt"), "w"):
                    pass


        class Asks(Built):
            def __init__(self) -> None:
                super().__init__()
                self.answer = input("Download? ")
    """,
}


SHOWN = {
    "use.py": """
        import torch
        from shown.units import scaled

        scaled(torch.ones(3), unit="furlong")
        scaled(torch.ones(3), unit="furlong", like=torch.ones(3, dtype=torch.float64))
    """,
    "units.py": """
        import torch
        from torch import nn


        class Grouped(nn.Module):
            '''
            >>> import shown.units
            >>> grouped = Grouped(dict(left=2, right=3), nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
            >>> grouped("right", torch.rand(2, 3), torch.rand(2, 3)).shape
            torch.Size([2, 3])
            '''

            def __init__(self, sizes: dict, layer: nn.Module) -> None:
                super().__init__()
                self.sizes, self.layer = sizes, layer

            def forward(self, group: str, *inputs: torch.Tensor) -> torch.Tensor:
                size = self.sizes[group]
                return sum(self.layer(each) for each in inputs) + torch.ones(size)


        class GroupedWell(Grouped):
            '''
            >>> grouped = GroupedWell(dict(left=2, right=3), nn.Linear(3, 3))
            >>> grouped("right", torch.rand(2, 3)).shape
            torch.Size([2, 3])
            '''

            def forward(self, group: str, *inputs: torch.Tensor) -> torch.Tensor:
                return sum(self.layer(each) for each in inputs) + torch.ones(self.sizes[group], device=inputs[0].device)


        class Total:
            '''
            >>> total = Total("x")
            >>> total.update(x=torch.tensor([1.0, 2.0]))
            >>> total.mean()
            tensor(1.5000)
            '''

            def __init__(self, name: str) -> None:
                if name != "x":
                    raise ValueError(name)

            def update(self, **values: torch.Tensor) -> None:
                self.seen = values["x"]

            def mean(self) -> torch.Tensor:
                return (self.seen * torch.full((2,), 0.5)).sum()


        class Wrapped:
            '''
            >>> Wrapped(torch.distributions.Uniform(0.0, 1.0)).density(torch.rand(3)).shape
            torch.Size([3])
            '''

            def __init__(self, base: torch.distributions.Distribution) -> None:
                self.base = base

            def density(self, x: torch.Tensor) -> torch.Tensor:
                return x * self.base.log_prob(x)


        def scaled(x: torch.Tensor, unit: str, like: torch.Tensor = None) -> torch.Tensor:
            if unit != "furlong":
                raise ValueError(unit)
            if like is not None:
                x = x.to(like)
            return x * torch.full((3,), 201.168)
    """,
}


ASKING = {
    "choices.py": """
        import enum

        import torch
        from torch import nn


        class Side(enum.Enum):
            LEFT = 1
            RIGHT = 2


        def of_an_enumeration(x: torch.Tensor, side: Side) -> torch.Tensor:
            return x if side is Side.LEFT else x * torch.ones(8)


        def of_words(x: torch.Tensor, name: str) -> torch.Tensor:
            known = ["alpha", "beta"]
            if name not in [*known]:
                raise ValueError(f"expected one of {known}, not {name!r}")
            return x * torch.ones(8)


        class Base(nn.Module):
            def __init__(self, num_classes, embedding_size):
                super().__init__()
                self.layer = nn.Linear(embedding_size, num_classes)

            def forward(self, x):
                return self.layer(x)


        class Derived(Base):
            def __init__(self, scale=1.0, **kwargs):
                super().__init__(**kwargs)
                self.scale = scale

            def forward(self, x):
                return super().forward(x) * torch.ones(8)


        class Activated(nn.Module):
            def __init__(self, settings):
                super().__init__()
                self.activation = getattr(nn.functional, settings.hidden_act)

            def forward(self, x):
                return self.activation(x)


        def degrees_of(count):
            return torch.arange(count)


        class Nested(nn.Module):
            def __init__(self, features):
                super().__init__()
                self.degrees = degrees_of(features)
                self.layer = Base(embedding_size=features, num_classes=features)

            def forward(self, x):
                return self.layer(x) + self.degrees


        class Composed(nn.Module):
            def __init__(self, parts):
                super().__init__()
                self.parts = nn.ModuleList(parts)

            def forward(self, x):
                for part in self.parts:
                    x = part(x)
                return x * torch.ones(8)


        class Configured(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.activated = Activated(config)
                self.layer = nn.Linear(config.hidden_size, 8)

            def forward(self, x):
                return self.layer(x) + torch.ones(8)
    """,
}


@pytest.fixture
def _forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "Server", Offline)


def project(folder: Path, name: str, files: dict[str, str]) -> Path:
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text(files.get("__init__.py", ""), encoding="utf-8")
    for file, text in files.items():
        (package / file).write_text(dedent(text).lstrip(), encoding="utf-8")
    return package


def hunted(package: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON report."""
    flags = ["--jobs", "1", "--max-tries", "24", "--output-format", "json", *arguments]
    result = CliRunner().invoke(cli, ["hunt", str(package), *flags], standalone_mode=False)
    assert result.exception is None, result.output
    return result.return_value, json.loads(result.stdout)


FEW = {
    "few.py": """
        import torch
        from torch import nn


        def factory(x: torch.Tensor) -> torch.Tensor:
            return x * torch.ones(x.shape[-1])


        def says_where(x: torch.Tensor, use_cuda: bool = False) -> torch.Tensor:
            return x * torch.ones(8, device=x.device if use_cuda else "cpu")


        class Remembers(nn.Module):
            def __init__(self, dim: int) -> None:
                super().__init__()
                self.layer, self.mask = nn.Linear(dim, dim), None

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                if self.mask is None:
                    self.mask = torch.ones(x.shape, device=x.device)
                return self.layer(x) * self.mask.to(next(self.parameters()).dtype)
    """
}


@pytest.mark.usefixtures("_forked")
def test_each_way_to_run_a_target_finds_its_bugs(tmp_path: Path) -> None:
    code, report = hunted(project(tmp_path, "few", FEW), "--max-tries", "8", "--write-reproducers", str(tmp_path / "s"))
    found = {(bug["failure"]["target"]["qualname"], bug["failure"]["mode"]) for bug in report["bugs"]}
    assert code == 1
    assert found == {("factory", modes.CALL), ("Remembers", modes.BACK), ("Remembers", modes.PARALLEL)}
    sorts = {one["target"]["qualname"]: [each["sort"] for each in one["failures"]] for one in report["targets"]}
    assert sorts["says_where"] == ["contract"]
    assert len(list((tmp_path / "s").iterdir())) == len(found)


@pytest.mark.slow
@pytest.mark.usefixtures("_forked")
def test_bugs_are_found_and_what_is_right_is_not(tmp_path: Path) -> None:
    package, scripts, record = project(tmp_path, "seeded", SEEDED), tmp_path / "scripts", tmp_path / "record"
    code, report = hunted(package, "--write-reproducers", str(scripts), "--record", str(record))

    found = {
        (bug["failure"]["target"]["qualname"], bug["failure"]["mode"]): (bug["rule"] or {}).get("code")
        for bug in report["bugs"]
    }
    assert code == 1
    assert found == {
        ("factory", modes.CALL): "TDL014",
        ("constant", modes.CALL): "TDL014",
        ("with_arrays", modes.CALL): None,
        ("another_result", modes.CALL): None,
        ("Branch", modes.CALL): "TDL003",
        ("Remembers", modes.BACK): None,
        ("Reads", modes.PARALLEL): None,
    }
    by_target = {bug["failure"]["target"]["qualname"]: bug for bug in report["bugs"]}
    assert ["seeded.bugs:calls_factory", modes.CALL] in by_target["factory"]["reached"]
    assert by_target["factory"]["failure"]["target"]["exported"]
    assert not by_target["constant"]["failure"]["target"]["exported"]
    assert by_target["constant"]["failure"]["origin"]["line"] == 5, "where the operand was made"
    sorts = {
        one["target"]["qualname"]: failure["sort"]
        for one in report["targets"]
        if one["target"]["module"] == "seeded.right"
        for failure in one["failures"]
    }
    assert sorts == {
        "on_the_host": "for the CPU",
        "of_arrays": "for the CPU",
        "lengths_belong_on_the_cpu": "contract",
        "says_where": "contract",
        "OfOneImage": "contract",
    }
    ran = {one["target"]["qualname"]: one["modes"] for one in report["targets"]}
    assert modes.PARALLEL in ran["Registers"]
    assert modes.PARALLEL not in ran["GivesAnObject"], "nothing puts its results together"
    _each_script_shows_its_bug(scripts, len(found))
    _the_record_spares_a_second_hunt(package, record, report)


def _each_script_shows_its_bug(scripts: Path, number: int) -> None:
    files = sorted(scripts.iterdir())
    assert len(files) == number
    for file in files:
        alone = forked.python(str(file), "cpu", cwd=scripts)
        assert alone.returncode == 0, alone.stderr
    shown = forked.python("-m", "torchdevlint", "run", "--", sys.executable, "seeded_bugs_factory_call.py", cwd=scripts)
    assert shown.returncode == 1
    assert "Expected all tensors to be on the same device" in shown.stderr


def _the_record_spares_a_second_hunt(package: Path, record: Path, report: dict[str, Any]) -> None:
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(lines) == 1 + len(report["targets"])
    record.write_text("".join(lines[:-2]) + lines[-1][:20], encoding="utf-8")
    _, again = hunted(package, "--record", str(record))
    without_files = [{**bug, "file": ""} for bug in report["bugs"]]
    assert again["bugs"] == without_files
    other = CliRunner().invoke(command, [str(package), "--max-tries", "9", "--record", str(record)])
    assert "the record of another hunt" in str(other.exception)


@pytest.mark.slow
@pytest.mark.usefixtures("_forked")
def test_values_come_from_examples_and_from_a_command(tmp_path: Path) -> None:
    package, scripts = project(tmp_path, "shown", SHOWN), tmp_path / "scripts"
    use = package.parent / "use.py"
    (package / "use.py").rename(use)
    command = f"{sys.executable} {use}"
    file = tmp_path / "report.json"
    flags = ["--jobs", "1", "--max-tries", "4", "--mode", "call", "--mode", "to-and-back", "--with-command", command]
    output = ["--write-reproducers", str(scripts), "--output-format", "json", "-o", str(file)]
    cli.main(["hunt", str(package), *flags, *output], standalone_mode=False)  # the command needs a real stderr
    report = json.loads(file.read_text(encoding="utf-8"))

    assert {one["target"]["qualname"]: one["why"] for one in report["targets"]} == {
        "Grouped": "",
        "GroupedWell": "",
        "Total.mean": "",
        "Total.update": "",
        "Wrapped.density": "",
        "scaled": "",
    }
    assert sorted(bug["failure"]["target"]["qualname"] for bug in report["bugs"]) == ["Grouped", "Total.mean", "scaled"]
    (wrapped,) = [one for one in report["targets"] if one["target"]["qualname"] == "Wrapped.density"]
    assert [(one["sort"], one["why"]) for one in wrapped["failures"]] == [
        ("contract", "it works with `self` made from tensors on the accelerator in place of numbers")
    ]
    lines = (scripts / "shown_units_Grouped_call.py").read_text(encoding="utf-8").splitlines()
    layer = "torch.nn.Sequential(torch.nn.Linear(in_features=3, out_features=3), torch.nn.ReLU())"
    assert lines[-2:] == [
        f"module = Grouped(sizes={{'left': 2, 'right': 3}}, layer={layer}).to(device)",
        "result = module(group, *inputs)",
    ]
    assert (
        (scripts / "shown_units_Total_mean_call.py")
        .read_text(encoding="utf-8")
        .endswith(
            dedent(
                """\
            thing = Total(name='x')
            thing.update(x=torch.tensor([1.0, 2.0]).to(device))
            result = thing.mean()
            """
            )
        )
    )


@pytest.mark.slow
@pytest.mark.usefixtures("_forked")
def test_what_a_target_asks_for_is_given(tmp_path: Path) -> None:
    package = project(tmp_path, "asking", ASKING)
    _, report = hunted(package, "--mode", "call", "--max-tries", "16")
    found = {bug["failure"]["target"]["qualname"] for bug in report["bugs"]}
    assert found == {"of_an_enumeration", "of_words", "Derived", "Nested", "Composed", "Configured"}
    assert not [one["target"]["qualname"] for one in report["targets"] if one["why"] and one["modes"]]


def test_what_makes_tensors_without_a_device_is_hunted_first(tmp_path: Path) -> None:
    text = """
        import torch

        def moves(x): return x.cpu()
        def makes(x): return x + torch.ones(3)
        def makes_there(x): return x + torch.ones(3, device=x.device)
        def exported(x): return x

        class Net(torch.nn.Module):
            def mask(self): return torch.zeros(3)
            def forward(self, x): return x + self.mask()
    """
    file = tmp_path / "one.py"
    file.write_text(dedent(text).lstrip(), encoding="utf-8")
    lines = file.read_text("utf-8").splitlines()

    def target(module: str, name: str, kind: str = "function") -> Target:
        line = next(number for number, each in enumerate(lines, 1) if f" {name}" in f" {each.strip()} "[3:])
        return Target(module, name, kind, str(file), line, name == "exported")

    every = [
        target("one", "moves"), target("one", "makes_there"), target("two", "moves"), target("two", "exported"),
        target("two", "makes"), target("two", "Net", "module"),
    ]  # fmt: skip
    assert [one.qualname for one in order.in_turn(every)] == [
        "makes", "Net", "exported", "moves", "moves", "makes_there"
    ]  # fmt: skip


@pytest.mark.slow
def test_what_does_harm_ends_with_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    package = project(tmp_path, "hostile", HOSTILE)
    _, report = hunted(package, "--mode", "call", "--timeout", "1")

    assert set(report["failed"]) == {"hostile.ends", "hostile.leaves", "hostile.misses"}
    assert "exit status 3" in report["failed"]["hostile.ends"]
    assert "pip install a_package_that_nobody_has" in report["failed"]["hostile.misses"]
    reasons = {one["target"]["qualname"]: one["why"] for one in report["targets"]}
    assert "nothing is written outside of its folder" in reasons["writes"]
    assert "there is no network" in reasons["connects"]
    assert "no programs are started" in reasons["starts"]
    assert "no end after" in reasons["hangs"]
    assert "SIGABRT" in reasons["dies"]
    assert "SystemExit" in reasons["Exits"]
    assert "no end after" in reasons["Hangs"]
    assert "nothing is written outside of its folder" in reasons["Writes"]
    assert "EOF" in reasons["Asks"]
    found = {bug["failure"]["target"]["qualname"] for bug in report["bugs"]}
    assert found <= {"reads", "Built", "Forks"}, "the rest is done"
    assert "reads" in found
    assert not _at_work_in(tmp_path), "what a constructor forks is ended"
    assert sorted(path.name for path in package.iterdir() if path.is_file()) == sorted(["__init__.py", *HOSTILE])


def _at_work_in(folder: Path) -> list[str]:
    """The processes whose working folder is, or was, below a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str((process / "cwd").readlink()).startswith(str(folder)):
                found.append(process.name)
        except OSError:
            continue
    return found


@pytest.mark.usefixtures("_forked")
def test_a_baseline_hides_a_bug_and_sarif_tells_of_it(tmp_path: Path) -> None:
    package, known = project(tmp_path, "small", {"one.py": SEEDED["bugs.py"]}), tmp_path / "known.json"
    flags = ["--select", "*:factory", "--mode", "call"]
    _, log = hunted(package, *flags, "--write-baseline", str(known), "--output-format", "sarif")
    (result,) = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 9}
    assert result["properties"]["rule"] == "TDL014"
    code, report = hunted(package, *flags, "--baseline", str(known))
    assert (code, report["bugs"]) == (0, [])


@pytest.mark.usefixtures("_forked")
def test_a_project_whose_import_uses_an_accelerator_is_hunted_as_any_other(tmp_path: Path) -> None:
    text = """
        import torch

        TABLE = torch.ones(8, device="cuda" if torch.cuda.is_available() else "cpu")


        def wrong(x: torch.Tensor) -> torch.Tensor:
            return x + torch.ones(8)


        def right(x: torch.Tensor) -> torch.Tensor:
            return x + TABLE.to(x.device) + torch.ones(8, device=x.device)
        """
    _, report = hunted(project(tmp_path, "eager", {"one.py": text}), "--mode", "call", "--max-tries", "8")
    sorts = {one["target"]["qualname"]: [each["sort"] for each in one["failures"]] for one in report["targets"]}
    assert sorts == {"wrong": ["bug"], "right": []}


@pytest.mark.usefixtures("_forked")
def test_what_is_not_begun_in_time_is_told_and_not_recorded(tmp_path: Path) -> None:
    package, record = project(tmp_path, "late", {"one.py": SEEDED["right.py"]}), tmp_path / "record"
    code, report = hunted(package, "--stop-after", "0.001", "--record", str(record))
    assert code == 2
    assert {one["why"] for one in report["targets"]} == {hunter.NOT_REACHED}
    assert len(record.read_bytes().splitlines()) == 1, "the head alone"


@pytest.mark.usefixtures("_forked")
def test_where_nothing_could_be_executed_the_hunt_has_failed(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.touch()
    result = CliRunner().invoke(cli, ["hunt", str(tmp_path)], standalone_mode=False)
    assert result.return_value == 2
    assert "nothing could be executed" in result.stderr


TARGET = Target("package.module", "Net", "module", "module.py", 3)
VALUES = {
    "init.dim": {"is": "value", "value": 8},
    "init.weight": {"is": "tensor", "shape": [8], "dtype": "float32"},
    "x": {"is": "tensor", "shape": [8, 8], "dtype": "float32"},
    "device": {"is": "device"},
    "mask": {"is": "default"},
    "use_cuda": {"is": "default"},
}


def test_a_script_says_all_that_is_done() -> None:
    text = script.plain(script.Call(TARGET, VALUES, module_is_class=True, folder="/src")).text
    assert text.endswith(
        dedent(
            """\
            import sys

            import torch

            sys.path.insert(0, '/src')
            from package.module import Net

            device = "cpu" if "cpu" in sys.argv else "cuda"
            torch.manual_seed(0)
            x = (torch.rand((8, 8)) + 0.1).to(device)
            device_ = torch.device(device)
            module = Net(dim=8, weight=(torch.rand((8,)) + 0.1)).to(device)
            result = module(x=x, device=device_)
            """
        )
    )


def test_placements_are_tried_one_argument_at_a_time_first() -> None:
    call = script.Call(TARGET, VALUES, module_is_class=True)
    told = [placements.told(call, other) for other in placements.others(call)]
    assert told == [
        "`use_cuda`, which says where it works",
        "`weight` on the accelerator when it is constructed",
        "`x` on the CPU",
        "`x` on the CPU and `weight` on the accelerator when it is constructed",
    ]


def test_results_are_compared_up_to_rounding() -> None:
    one = {"path": "", "kind": "tensor", "dtype": "torch.float32", "shape": [1], "device": "cpu", "grad": False}
    control = [{**one, "values": [1.0], "sum": 1.0}]
    assert compare.differ(control, [{**one, "device": "cuda:0", "values": [1.0 + 1e-6], "sum": 1.0}]) == ""
    assert "1.0 on the control, 1.1 on the accelerator" in compare.differ(
        control, [{**one, "values": [1.1], "sum": 1.1}]
    )
    assert "dtype" in compare.differ(control, [{**control[0], "dtype": "torch.float16"}])


def test_values_that_were_seen_are_kept_or_described() -> None:
    import torch

    def text(value: object) -> str:
        description = described.described(value, lambda _one: None)
        return written.Writer((), constructed=False).value(description, "x")

    assert text(torch.tensor([[0.1, 2.0], [3.0, float("inf")]])) == (
        "torch.tensor([[0.1, 2.0], [3.0, float('inf')]]).to(device)"
    )
    assert text(torch.tensor(7, dtype=torch.int32)) == "torch.tensor(7, dtype=torch.int32).to(device)"
    assert text(torch.rand(8, 8)) == "torch.rand((8, 8)).to(device)"
    assert text(torch.zeros(64, dtype=torch.float64)) == "torch.full((64,), 0.0, dtype=torch.float64).to(device)"
    assert text(torch.arange(40)) == "torch.randint(0, 40, (40,)).to(device)"
    assert text([torch.float16, torch.Size((2, 3)), torch.relu, torch.nn.ReLU]) == (
        "[torch.float16, (2, 3), torch.relu, torch.nn.ReLU]"
    )
    for unknown in (object(), lambda x: x, torch.nn.Linear(2, 2), {1: 2}, torch.eye(8).to_sparse()):
        with pytest.raises(described.UndescribedError):
            described.described(unknown, lambda _one: None)


@pytest.mark.parametrize(
    ("shown", "beyond"),
    [
        ({"exception": "RuntimeError", "of_places": True, "trace": "triton"}, False),
        ({"exception": "KeyError"}, False),
        ({"exception": "MemoryError"}, True),
        ({"exception": "RuntimeError", "trace": "File site-packages/triton/runtime/driver.py"}, True),
        ({"exception": "KeyError", "limits": ["a graph was captured"]}, True),
        ({"ended": "died", "exception": ""}, True),
    ],
)
def test_what_this_machine_lacks_is_no_bug(shown: dict[str, Any], beyond: bool) -> None:
    whole = {"ended": "raised", "text": "it failed", "of_places": False, "trace": "", "limits": [], **shown}
    assert bool(judge.is_beyond(whole)) is beyond


def test_tests_and_what_builds_a_project_are_no_targets(tmp_path: Path) -> None:
    package = project(tmp_path, "seeded", {"one.py": "", "test_one.py": "", "conftest.py": "", "not-a-name.py": ""})
    files = tuple(str(path) for path in sorted(package.iterdir()))
    assert [name for name, _ in project_of(files, tmp_path).modules] == ["seeded", "seeded.one"]


def test_a_script_is_reseeded_in_the_call_and_in_what_is_made_on_the_device() -> None:
    made = "place = torch.device(device)\nlayer = Linear(8, device=torch.device(device))\nx = torch.rand(8)\n"
    again = "place = torch.device(device)\ntorch.manual_seed(1)\nlayer = Linear(8, device=torch.device(device))\n"
    assert hunter.reseeded(made) == f"{again}x = torch.rand(8)\n"
    text = "torch.manual_seed(0)\nwith one:\n    result = f()\n"
    assert hunter.reseeded(text) == "torch.manual_seed(0)\nwith one:\n    torch.manual_seed(1)\n    result = f()\n"
