"""Threads inherit the simulation: dispatch modes are thread-local, accelerators are not."""

from __future__ import annotations

import _thread
import concurrent.futures.thread
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchdevlint.runtime.simulated import state
from torchdevlint.runtime.simulated.patches import Patch


class _Follower(TorchDispatchMode):  # type: ignore[misc]
    """The mode of a thread, which may outlive the simulation that it was started in: does what the active one does."""

    leader: Any = None
    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        mode = self.leader
        if mode is None or mode._simulation is not state.active:
            return func(*args, **(kwargs or {}))
        return mode.__torch_dispatch__(func, types, args, kwargs)


follower = _Follower()
"""To be entered in a thread that has no mode."""


def _following(run: Callable[..., Any]) -> Callable[..., Any]:
    def within(*args: Any, **kwargs: Any) -> Any:
        if torch._C._len_torch_dispatch_stack():
            return run(*args, **kwargs)
        with follower:
            return run(*args, **kwargs)

    return within


def patches(mode: Any) -> Iterator[Patch]:
    """What makes every new thread follow `mode`, and the threads of pools that were there before.

    `_bootstrap_inner` is what a new thread runs in CPython 3.10 to 3.14, whether or not `run` is overridden.
    """
    follower.leader = mode
    thread: Any = threading.Thread
    yield thread, "_bootstrap_inner", _following(thread._bootstrap_inner)
    item: Any = concurrent.futures.thread._WorkItem
    yield item, "run", _following(item.run)
    start = _thread.start_new_thread

    def start_new_thread(function: Callable[..., Any], *args: Any) -> int:
        return start(_following(function) if callable(function) else function, *args)

    yield _thread, "start_new_thread", start_new_thread
