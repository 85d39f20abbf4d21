"""Helpers that fill a tensor of the CPU, whose results all callers of an application read on the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

SCORES = """import torch

def curve(query, labels):
    precision = torch.zeros(len(query), 3)
    recall = torch.zeros(len(query), 3)
    for i in range(len(query)):
        hits = (query[i].unsqueeze(0).mm(labels.t()) > 0).float().squeeze()
        precision[i] = hits / hits.sum()
        recall[i] = hits / len(labels)
    return precision, recall
"""
MAIN = """import numpy as np
import torch
from scores import curve

def test(net, loader):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net.to(device)
    for x, y in loader:
        p, r = curve(net(x.to(device)), y.to(device))
        print(p.shape, r.mean())
        np.save("p.npy", p.numpy())
        np.save("r.npy", r.detach().cpu().numpy())

if __name__ == "__main__":
    test(torch.nn.Linear(3, 3), [])
"""
READ = '        np.save("p.npy", p.numpy())\n'


@pytest.mark.parametrize(
    ("old", "new", "hurts"),
    [
        pytest.param("", "", False, id="arrays are made of both"),
        pytest.param(READ, "        p = p.numpy()\n        print(p + y)\n", False, id="by another name from there on"),
        pytest.param(READ, "        print(p[0].mean().item())\n", False, id="a number is made of it"),
        pytest.param(READ, "        print(p + net.bias)\n", True, id="meets a parameter"),
        pytest.param(READ, "        net.seen = p\n", True, id="is kept"),
        pytest.param(READ, "        p = p * net.bias\n", True, id="meets one where it is bound anew"),
        pytest.param("p, r = curve(", "net.p, r = curve(", True, id="is an attribute"),
        pytest.param("np.save", "pass  # np.save", True, id="is only shown"),
    ],
)
def test_results_that_the_host_reads(tmp_path: Path, old: str, new: str, hurts: bool) -> None:
    """What only a function returns is advice in any case; where the host reads it, there is nothing to say."""
    main = MAIN.replace(old, new) if old else MAIN
    root = application(tmp_path, main=main, scores=SCORES)
    assert bool(found(root, "TDL004", "TDL014")) == hurts
