"""Tensors that an object of a class in another file keeps, and what the file that makes the object does with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files

SCHEDULE = """
    import torch

    class Schedule:
        def __init__(self, steps):
            self.betas = torch.linspace(1e-4, 0.02, steps)
            self.kept = torch.cumprod(1 - self.betas, 0)

        def some(self, count):
            return self.kept[:count]
"""
MOVED = """
    import torch

    class Schedule:
        def __init__(self, steps):
            self.kept = torch.linspace(1e-4, 0.02, steps)

        def to(self, device):
            {}
"""
USE = """
    import torch
    from placing import place
    from schedule import Schedule

    def main(model, loader, copy):
        device = torch.device("cuda")
        model = model.to(device)
        {}
        for x, _ in loader:
            x = x.to(device)
            t = torch.randint(0, 10, (3,), device=device)
            {}
"""


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.mark.parametrize(
    ("use", "rule"),
    [
        ("model(schedule.kept * x)", "TDL004"),
        ("model(schedule.some(3) * x)", "TDL004"),
        ("model(schedule.kept[t])", "TDL007"),
        ("model(schedule.kept[t.cpu()].to(device))", ""),
        ("model(schedule.some(3).to(x) * x)", ""),
        ("model(schedule.kept.to(device)[t])", ""),
    ],
)
def test_what_an_object_keeps_is_reported_where_it_meets_the_other(project: Files, use: str, rule: str) -> None:
    use = USE.format("schedule = Schedule(10)", use)
    found = project({"schedule.py": SCHEDULE, "use.py": use})
    assert found == {"schedule.py": set(), "use.py": {(12, rule)} if rule else set()}


@pytest.mark.parametrize(
    "made",
    [
        "schedule = Schedule(10)\n        schedule.kept = schedule.kept.to(device)",
        "schedule = Schedule(10)\n        place(schedule, device)",
        "schedule = place(Schedule(10), device)",
        "schedule = Schedule(10)\n        vars(schedule).update({k: v.cuda() for k, v in vars(schedule).items()})",
        "schedule = Schedule(10)\n        schedule.__dict__.update(copy)",
        "with device:\n            schedule = Schedule(10)",
        "torch.set_default_device(device)\n        schedule = Schedule(10)",
    ],
)
def test_what_may_have_been_moved_as_a_whole_is_left_alone(project: Files, made: str) -> None:
    found = project({"schedule.py": SCHEDULE, "use.py": USE.format(made, "model(schedule.kept * x)")})
    assert found["use.py"] == set()


@pytest.mark.parametrize(
    "move",
    [
        "self.kept = self.kept.to(device)\n            return self",
        "for k, v in self.__dict__.items():\n                setattr(self, k, v.to(device))\n            return self",
    ],
)
def test_an_object_that_moves_its_tensors_itself(project: Files, move: str) -> None:
    use = USE.format("schedule = Schedule(10)\n        schedule.to(device)", "model(schedule.kept * x)")
    found = project({"schedule.py": MOVED.format(move), "use.py": use})
    assert found["use.py"] == set()


def test_an_object_that_is_handed_to_a_function_with_a_device(project: Files) -> None:
    use = """
        import torch
        from schedule import Schedule

        def train(model, schedule, loader, device):
            for x, _ in loader:
                model(schedule.kept * x.to(device))

        def main(model, loader):
            device = torch.device("cuda")
            train(model.to(device), Schedule(10), loader, device)
            schedule = Schedule(10)
            train(model, schedule, loader, device)
    """
    assert project({"schedule.py": SCHEDULE, "use.py": use})["use.py"] == set()
    use = use.replace("train(model.to(device), Schedule(10), loader, device)", "model.to(device)")
    assert project({"schedule.py": SCHEDULE, "use.py": use})["use.py"] == {(6, "TDL004")}


def test_what_the_other_file_mixes_itself_is_reported_there_alone(project: Files) -> None:
    mixing = SCHEDULE + "\n        def noise(self, x: torch.Tensor):\n            return self.kept * x\n"
    use = USE.format("schedule = Schedule(10)", "model(schedule.kept * x)")
    assert project({"schedule.py": mixing, "use.py": use}) == {"schedule.py": {(5, "TDL014")}, "use.py": set()}
    doing_nothing = mixing.replace("self.kept * x", "x")
    assert project({"schedule.py": doing_nothing, "use.py": use}) == {"schedule.py": set(), "use.py": {(12, "TDL004")}}


FALLBACK = """
    from inspect import isfunction

    def exists(value):
        return value is not None

    def default(value, fallback):
        return value if exists(value) else fallback

    def default_of(value, fallback):
        if value is not None:
            return value
        return fallback() if isfunction(fallback) else fallback

    def preferred(value, fallback):
        return value if value.preferred else fallback
"""
TURN = """
    import torch
    from helpers import default, default_of, preferred

    def turn(goal: torch.Tensor, rotation=None):
        rotation = {}
        return rotation @ goal
"""


@pytest.mark.parametrize(
    ("rotation", "found"),
    [
        ("default(rotation, torch.eye(3))", {(5, "TDL014")}),
        ("default_of(rotation, lambda: torch.eye(3))", {(5, "TDL014")}),
        ("default(rotation, torch.eye(3, device=goal.device))", set()),
        ("default(rotation, torch.eye(3)).to(goal)", set()),
        ("preferred(rotation, torch.eye(3))", set()),
    ],
)
def test_a_helper_that_gives_one_of_two_arguments_leaves_the_choice_to_its_caller(
    project: Files, rotation: str, found: set[tuple[int, str]]
) -> None:
    assert project({"helpers.py": FALLBACK, "turn.py": TURN.format(rotation)})["turn.py"] == found
