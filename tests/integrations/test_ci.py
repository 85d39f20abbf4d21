"""The action, and the examples of CI in the documentation: they are what the services take, and their lines run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, python

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
BUG = "import torch\n\nstate = torch.load('model.pt')\n"
PLACE = "path/or/url/of/this/repository"
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
"""How GitHub runs a step with `shell: bash`."""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the steps are for bash")


def examples() -> Iterator[tuple[str, str]]:
    """The YAML of the documentation, by the file names in their first lines."""
    text = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield block.partition("\n")[0].removeprefix("# "), block


EXAMPLES = list(examples())
SCHEMAS = {
    ".github/workflows/torchdevlint.yml": "vendor.github-workflows",
    ".gitlab-ci.yml": "vendor.gitlab-ci",
    "azure-pipelines.yml": "vendor.azure-pipelines",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a finding in ``src/bug.py``, and a virtual environment beside it as the action makes one."""
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "bug.py").write_text(BUG)
    (tmp_path / "torchdevlint" / "bin").mkdir(parents=True)
    script = tmp_path / "torchdevlint" / "bin" / "torchdevlint"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m torchdevlint "$@"\n')
    script.chmod(0o755)
    return tmp_path / "project"


def shell(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BASH, script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def run_step(name: str, project: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """A step of the action, with its expressions worked out as GitHub would."""
    known = {f"inputs.{key}": str(value["default"]) for key, value in ACTION["inputs"].items()}
    known |= {f"inputs.{key.replace('_', '-')}": value for key, value in given.items()}
    known |= {
        "runner.temp": str(project.parent),
        "github.action_path": str(ROOT),
        "steps.python.outputs.python-path": sys.executable,
    }

    def said(text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: known[match[1]], text)

    step = STEPS[name]
    folder = project / said(step.get("working-directory", "."))
    variables = {key: said(value) for key, value in step["env"].items()}
    return shell(step["run"], folder, **variables)


class TestAction:
    def test_it_is_one(self, tmp_path: Path) -> None:
        validate("vendor.github-actions", ROOT / "action.yml")
        bad = tmp_path / "action.yml"
        bad.write_text("name: x\nruns:\n  using: composite\n")
        assert python(*CHECK, "vendor.github-actions", str(bad)).returncode == 1

    def test_every_input_is_used_and_told_and_none_reaches_a_shell_as_code(self) -> None:
        text = (ROOT / "action.yml").read_text(encoding="utf-8")
        told = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
        assert set(re.findall(r"inputs\.([\w-]+)", text)) == ACTION["inputs"].keys()
        for name, given in ACTION["inputs"].items():
            default = f"`{given['default']}`" if given["default"] else ""
            assert f"| `{name}` | {default} |".replace("|  |", "| |") in told
        for step in STEPS.values():
            assert "${{" not in step.get("run", "")
            assert ("shell" in step) is ("run" in step)

    def test_findings_fail_the_step_and_are_annotations(self, project: Path) -> None:
        done = run_step("Lint", project)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith("::warning title=TDL201 load-without-map-location,file=src/bug.py,line=3,")
        assert run_step("Lint", project, args="--fail-on error\n--no-cache").returncode == 0
        assert run_step("Lint", project, paths="nosuch").returncode == 2

    def test_paths_are_words_and_nothing_else(self, project: Path) -> None:
        (project / "src" / "*").mkdir()
        (project / "src" / "*" / "clean.py").write_text("import torch\n")
        assert run_step("Lint", project, paths="src/*").returncode == 0, "patterns are not for the shell"
        done = run_step("Lint", project, paths="src/bug.py\nsrc/*", args='$(touch hacked) "; touch hacked')
        assert done.returncode == 2
        assert not (project / "hacked").exists()

    def test_the_log_is_written_and_findings_are_left_to_the_other_step(self, project: Path) -> None:
        done = run_step("Write SARIF", project, args="--fail-on advice", working_directory="src")
        assert (done.returncode, done.stdout) == (0, "")
        upload = STEPS["Upload SARIF"]["with"]["sarif_file"].replace("${{ runner.temp }}", str(project.parent))
        (run,) = json.loads(Path(upload).read_text())["runs"]
        assert [result["ruleId"] for result in run["results"]] == ["TDL201"]
        assert STEPS["Write SARIF"]["if"] == STEPS["Upload SARIF"]["if"]

    @pytest.mark.network
    def test_it_installs_itself(self, tmp_path: Path) -> None:
        project = tmp_path / "project"
        project.mkdir()
        done = run_step("Install torchdevlint", project)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("torchdevlint ")


CHECK = ("-m", "check_jsonschema", "--builtin-schema")


def validate(schema: str, *files: Path) -> None:
    done = python(*CHECK, schema, *map(str, files))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SCHEMAS)
def test_examples_are_what_the_service_takes(name: str, tmp_path: Path) -> None:
    blocks = [block for file, block in EXAMPLES if file == name]
    assert blocks
    for number, block in enumerate(blocks):
        (tmp_path / f"{number}.yml").write_text(block, encoding="utf-8")
    validate(SCHEMAS[name], *tmp_path.iterdir())


def lines(block: str) -> Iterator[str]:
    """The shell lines of an example."""
    found = yaml.safe_load(block)
    for job in found.get("jobs", {}).values():
        yield from (step["run"] for step in job["steps"] if "run" in step)
    yield from (step["script"] for step in found.get("steps", ()))
    yield from found.get("torchdevlint", {}).get("script", ())


def test_the_lines_of_the_examples_run(project: Path) -> None:
    ran, scripts = 0, project.parent / "torchdevlint" / "bin"
    for name, block in EXAMPLES:
        for line in lines(block):
            if line == f"pip install {PLACE}":
                continue
            done = shell(line, project, PATH=f"{scripts}{os.pathsep}{os.environ['PATH']}")
            assert (done.returncode, done.stderr) == (1, ""), name
            ran += 1
    assert ran == 3
    (issue,) = json.loads((project / "gl-code-quality-report.json").read_text())
    assert issue["location"] == {"path": "src/bug.py", "lines": {"begin": 3, "end": 3}}


def test_the_example_uses_inputs_of_the_action() -> None:
    jobs = [job for _, block in EXAMPLES for job in yaml.safe_load(block).get("jobs", {}).values()]
    steps = [step for job in jobs for step in job["steps"]]
    (used,) = [step["with"] for step in steps if step.get("uses", "").startswith("OWNER/")]
    assert used.keys() <= ACTION["inputs"].keys()
