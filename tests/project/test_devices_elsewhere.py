"""Devices that an object of a class in another file keeps in a list: which one it is is not known, but it is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files

LAYOUT = """
    import torch

    class Layout:
        def __init__(self, devices):
            self.devices = [torch.device(each) for each in devices]
            self.sizes = [torch.device(each) for each in devices]
"""
USE = """
    import torch
    from layout import Layout

    class Model:
        def __init__(self, devices):
            self.names = list(devices)

        def run(self, x):
            layout = Layout(self.names)
            device = layout.devices[0]
            image = torch.as_tensor(x, device=device)
            return {}
"""


@pytest.mark.parametrize(
    ("use", "rule"),
    [
        ("torch.sqrt(image).numpy()", "TDL006"),
        ("torch.ones(3) + torch.zeros(3, device=device)", "TDL014"),
        ("torch.ones(3) + torch.zeros(3, device=layout.devices[1])", "TDL014"),
        ("torch.sqrt(image).cpu().numpy()", ""),
        ("torch.ones(3, device=layout.devices[0]) + torch.zeros(3, device=device)", ""),
        ("torch.ones(3, device=layout.devices[1]) + torch.zeros(3, device=device)", ""),
        ("torch.ones(3) + torch.zeros(3, device=layout.sizes[0])", ""),
    ],
)
def test_one_of_several_devices(tmp_path: Path, use: str, rule: str) -> None:
    found = Files(tmp_path)({"layout.py": LAYOUT, "use.py": USE.format(use)})
    assert found == {"layout.py": set(), "use.py": {(12, rule)} if rule else set()}
