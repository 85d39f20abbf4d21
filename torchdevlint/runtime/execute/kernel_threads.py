"""The threads of the CPU's kernels: one, in this process and in its forks, which may start threads of their own.

The pool of these threads does not survive a fork. Who first asks for it there makes another, and who asks meanwhile, as
replicas of `DataParallel` do, gets none and raises "Invalid thread pool!" (caffe2/utils/threadpool/pthreadpool-cpp.cc).
PyTorch has every fork call `get_num_threads` at its start, but in a thread that has computed before, such as the one of
a server, that asks for no pool.
"""

from __future__ import annotations

import os

import torch

_get, _set = torch.get_num_threads, torch.set_num_threads


def take_one() -> None:
    """Compute in one thread from now on, and have each fork make its pool before it starts a thread."""
    torch.set_num_threads(1)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_make_pool)


def _make_pool() -> None:
    _set(_get())
