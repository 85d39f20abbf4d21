"""Compiled code: what would hide its devices from the simulation runs as ordinary Python instead.

`torch.compile` keeps its wrappers (`OptimizedModule`, the prefix `_orig_mod.`) and runs what they wrap. Functions and
modules given to `torch.jit.script` and `torch.jit.trace` are returned as they are (`PYTORCH_JIT=0` does the same);
modules that are loaded compiled are refused, because devices are constants in their code. `torch.export` is refused on
an accelerator; on the CPU it traces by running (`strict=False`), since dynamo would compile the functions of the
simulation into the program. The recorder is told.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch

from torchdevlint.runtime.simulated import state
from torchdevlint.runtime.simulated.errors import not_simulated, refusing
from torchdevlint.runtime.simulated.patches import Patch

_SCRIPTED_ONLY = ("save", "save_to_buffer")


def _limitation(text: str) -> None:
    recorder = None if state.active is None else state.active.recorder
    if recorder is not None:
        recorder.limitation(text)


def _eagerly(callback: Any) -> Any:
    """In place of `_callback_from_stance`: its answer for the stance "force_eager"."""
    if callback not in (None, False):
        _limitation("torch.compile: the functions ran without being compiled")
    return None


def _no_eval_frame(original: Callable[..., Any]) -> Callable[..., Any]:
    """In place of `set_eval_frame`, for torch 2.4 and 2.5, which have no stances: no frame is compiled."""

    def set_eval_frame(callback: Any) -> Any:
        _eagerly(callback)
        return original(None)

    return set_eval_frame


def _interpreted(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`torch.jit.script` and `torch.jit.trace`, which the state `_enabled` has made return what they are given."""

    @functools.wraps(original)
    def interpreted(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        _limitation(f"torch.jit.{name}: the code ran as Python")
        if isinstance(made, torch.nn.Module) and not isinstance(made, torch.jit.ScriptModule):
            for method in _SCRIPTED_ONLY:
                if not hasattr(type(made), method):
                    made.__dict__.setdefault(method, _of_a_scripted_module)
        return made

    return interpreted


def _unchanged(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def unchanged(module: Any, *args: Any, **kwargs: Any) -> Any:
        return original(module, *args, **kwargs) if isinstance(module, torch.jit.ScriptModule) else module

    return unchanged


def _of_a_scripted_module(*args: Any, **kwargs: Any) -> Any:
    """Not made by `refusing`: it is an attribute of the module, and has to be found when that is unpickled."""
    not_simulated("Saving a module that torch.jit compiled")


def _extension(original: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.utils.cpp_extension.load` and `load_inline`: C++ is built, CUDA is refused."""

    @functools.wraps(original)
    def load(*args: Any, **kwargs: Any) -> Any:
        sources = args[1] if len(args) > 1 else kwargs.get("sources", ())
        files = [sources] if isinstance(sources, str) else list(sources)
        if kwargs.get("cuda_sources") or kwargs.get("with_cuda") or any(str(one).endswith(".cu") for one in files):
            not_simulated("An extension with CUDA sources")
        return original(*args, **kwargs)

    return load


def _export(original: Callable[..., Any]) -> Callable[..., Any]:
    strict = inspect.signature(original).parameters["strict"].default

    @functools.wraps(original)
    def export(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("strict", strict):
            _limitation("torch.export: traced with strict=False")
        return original(*args, **{**kwargs, "strict": False})

    return export


def _fake(original: Callable[..., Any]) -> Any:
    """`FakeTensor.__new__`: C++ ends the whole interpreter when such a tensor names a device that its build lacks."""

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        active = state.active
        for device in (*args[2:3], *(kwargs.get(name) for name in ("device", "fake_device", "_fake_device"))):
            if device is not None and active is not None and active.is_simulated(torch.device(device)):
                not_simulated("A FakeTensor on an accelerator (torch.export, make_fx, FakeTensorMode)")
        return original(cls, *args, **kwargs)

    return staticmethod(new)


def patches_of_dynamo() -> Iterator[Patch]:
    """What replaces attributes of `torch._dynamo`, which has been imported."""
    frames: Any = importlib.import_module("torch._dynamo.eval_frame")
    if hasattr(frames, "_callback_from_stance"):
        stance = frames.DynamoStance("force_eager")
        yield frames, "_stance", stance
        yield frames, "_set_stance", lambda _: stance
        yield frames, "_callback_from_stance", _eagerly
    else:
        for name in ("set_eval_frame", "_maybe_set_eval_frame"):  # 2.4 calls the one, 2.5 the other
            if hasattr(frames, name):
                yield frames, name, _no_eval_frame(getattr(frames, name))
        yield torch._dynamo, "export", refusing("torch.export", torch._dynamo.export)


def patches() -> Iterator[Patch]:
    """What replaces attributes of `torch.export`, `torch.jit` and, where it is loaded, `torch.utils.cpp_extension`."""
    with suppress(ImportError):
        fakes: Any = importlib.import_module("torch._subclasses.fake_tensor")
        yield fakes.FakeTensor, "__new__", _fake(fakes.FakeTensor.__new__)
        exporting: Any = importlib.import_module("torch.export")
        yield exporting, "export", _export(exporting.export)
    jit: Any = torch.jit
    yield jit._state._enabled, "enabled", False
    for name in ("script", "trace", "trace_module"):
        yield jit, name, _interpreted(getattr(jit, name), name)
    yield jit, "load", refusing("A module that torch.jit compiled", jit.load)
    yield jit, "save", refusing("Saving a module that torch.jit compiled", jit.save)
    for name in ("freeze", "optimize_for_inference"):
        yield jit, name, _unchanged(getattr(jit, name))
    extensions: Any = sys.modules.get("torch.utils.cpp_extension")  # not imported for this: it imports setuptools
    if extensions is not None:
        for name in ("load", "load_inline"):
            yield extensions, name, _extension(getattr(extensions, name))
