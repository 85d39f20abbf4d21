"""TDL404: tensors of the CPU that go over NCCL, where another file makes the group, or sends what it is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files

GROUPS = """
    import torch
    import torch.distributed as dist

    def started(backend="nccl"):
        dist.init_process_group(backend)

    def reduced(value: torch.Tensor):
        if not dist.is_initialized():
            raise RuntimeError("no group")
        dist.all_reduce(value)
        return value
"""
COUNTED = """
    import torch
    import torch.distributed as dist

    def counted(rows):
        total = torch.tensor([len(rows)])
        dist.all_reduce(total)
        return total.item()
"""
HANDED = """
    import torch
    from groups import reduced

    def counted(rows, device):
        return reduced(torch.tensor([len(rows)])).item(), reduced(torch.ones(2, device=device))
"""


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_project_that_makes_groups_with_nccl_sends_over_it(project: Files) -> None:
    assert project({"groups.py": GROUPS, "counts.py": COUNTED})["counts.py"] == {(6, "TDL404")}


def test_a_project_that_names_another_backend_may_send_from_the_cpu(project: Files) -> None:
    told = GROUPS.replace('backend="nccl"', "backend")
    assert project({"groups.py": told, "counts.py": COUNTED})["counts.py"] == set()
    other = GROUPS + "\n    def on_cpu():\n        started('gloo')\n"
    assert project({"groups.py": other, "counts.py": COUNTED})["counts.py"] == set()
    assert project({"groups.py": "import torch\n", "counts.py": COUNTED})["counts.py"] == set()


def test_what_a_function_of_another_file_sends_is_reported_where_it_is_given(project: Files) -> None:
    assert project({"groups.py": GROUPS, "counts.py": HANDED})["counts.py"] == {(5, "TDL404")}
