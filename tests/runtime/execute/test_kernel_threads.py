"""Threads of a fork of the server, as replicas of `DataParallel` are, ask for the threads of the CPU's kernels."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT, needs_fork

pytest.importorskip("torch", reason="what is executed here computes with torch")

TWO_THREADS_IN_EACH_FORK = """
import os, threading
import torch
from torchdevlint.runtime.execute import serve

torch.set_num_threads(64)
serve.warm()
torch.set_num_threads(64)  # to make so large a pool takes longer than the second thread needs to ask for it
torch.get_num_threads()


def compute():
    begin.wait()
    torch.ones(100_000).sum()
    ended.append(1)


for _ in range(10):
    child = os.fork()
    if not child:
        begin, ended = threading.Barrier(2), []
        threads = [threading.Thread(target=compute) for _ in range(2)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        os._exit(len(ended))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@needs_fork
def test_threads_that_begin_to_compute_at_once_share_a_pool() -> None:
    command = [sys.executable, "-c", TWO_THREADS_IN_EACH_FORK]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["2"] * 10, done.stderr
