"""In a child process: what the hunter asks for. Each answer is plain data.

The process above has become the machine, and has imported the project (`prepare`); a child is a fork of it.
"""

from __future__ import annotations

import inspect
import linecache
import os
import random
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from msgspec.structs import replace

from torchdevlint.runtime.execute import own_examples
from torchdevlint.runtime.execute.before import before
from torchdevlint.runtime.execute.called import BEFORE, INIT, METHOD, MODULE, RECEIVER, Values
from torchdevlint.runtime.execute.deciding import Deciding
from torchdevlint.runtime.execute.errors import text_of
from torchdevlint.runtime.execute.lines import LineWatch
from torchdevlint.runtime.execute.machine import SIMULATED
from torchdevlint.runtime.execute.open_ended import definition, located, open_ended
from torchdevlint.runtime.execute.slots import Slot, slots_of
from torchdevlint.runtime.execute.values import tensors_in
from torchdevlint.runtime.hunt import compare, script
from torchdevlint.runtime.hunt.explore import explore
from torchdevlint.runtime.hunt.keep import keep_away
from torchdevlint.runtime.hunt.survey import brought, survey
from torchdevlint.runtime.hunt.targets import Target
from torchdevlint.runtime.hunt.written import can_be_written, imported, leaves
from torchdevlint.runtime.modules import registered_tensors
from torchdevlint.runtime.record import recorder as recording
from torchdevlint.runtime.record import sites
from torchdevlint.runtime.record.recorder import UNSUPPORTED, Recorder, cut, plain, story_of
from torchdevlint.symptoms import is_of_places

FLAT = "flat"
_RECORDER: list[Recorder] = []


def prepare(order: dict[str, Any], folder: Path) -> None:
    """Become a machine, once for all children: ``flat``, ``simulated``, or a real device; then import the project."""
    from torchdevlint.runtime.simulated import install

    keep_away(folder)
    sites.adopt(order["root"])
    recorder = Recorder(backend=SIMULATED, accelerators=2)
    recording.start(recorder)
    _RECORDER.append(recorder)
    install(2, recorder=recorder, flat=order["machine"] == FLAT)
    for name, place in order["modules"]:
        brought(name, place)


def answer(request: dict[str, Any]) -> Any:
    """Do what one request says."""
    from torchdevlint.runtime.simulated import current

    simulation = current()
    if simulation is not None:
        simulation.driver.excuse_fork()
    what = request["what"]
    if what == "survey":
        return survey(request["modules"], request["root"])
    if what == "search":
        return _search(request)
    if what == "examples":
        targets = [Target(*row) for row in request["targets"]]
        return own_examples.calls_of(request["modules"], targets, request["root"])
    return [_run(text, request["name"], request["root"]) for text in request["texts"]]


def _search(request: dict[str, Any]) -> dict[str, Any]:
    """The ways through a target that were found, as calls that a script can be written of."""
    target = Target(*request["target"])
    module = brought(target.module, request["folder"])
    if isinstance(module, str):
        return {"calls": [], "runs": 0, "why": module}
    owner, function = _found(module, target)
    call = script.Call(
        target,
        {},
        module_is_class=owner is not None and issubclass(owner, torch.nn.Module),
        static=owner is not None
        and isinstance(
            inspect.getattr_static(owner, target.qualname.rpartition(".")[2], None), (staticmethod, classmethod)
        ),
        positional=_positional_only(function),
        folder=request["folder"] if request["insert"] else "",
    )
    slots = list(_slots(target, call, owner, function))
    watch = LineWatch(request["root"])

    def run(values: Values) -> BaseException | None:
        if not can_be_written(values) or _name_clashes(target, values):
            return NotImplementedError("a value that no script can hold")
        text = script.plain(_with(call, values)).text
        try:
            with watch:
                _execute(text, "<hunt>")
        except BaseException as error:  # noqa: BLE001 (`sys.exit()` is an answer as well)
            return error
        return None

    starts = [] if call.static else [{RECEIVER: one} for one in request["made"]]
    found = explore(
        slots,
        run,
        watch,
        lambda values: _counts(call, values),
        request["most"],
        request["seen"],
        starts,
        _deciding(function, slots),
    )
    calls = [
        {
            "values": dict(values),
            "module_is_class": _with(call, values).module_is_class,
            "static": call.static,
            "positional": call.positional,
            "folder": call.folder,
        }
        for values in found.variants
    ]
    return {"calls": calls, "runs": found.runs, "why": found.why}


def _with(call: script.Call, values: Values) -> script.Call:
    """The call with other values, of which one may be an instance of a subclass."""
    is_module = call.module_is_class or bool(values.get(RECEIVER, {}).get("module"))
    return replace(call, values=values, module_is_class=is_module)


def _name_clashes(target: Target, values: Values) -> bool:
    """Whether a value needs the name of the target for something else."""
    first = target.qualname.partition(".")[0]
    return any(name == first and module != target.module for module, name in imported(values))


def _counts(call: script.Call, values: Values) -> bool:
    """Whether tensors are in it: arguments, or a Module of the project."""
    if _with(call, values).module_is_class:
        return True
    return any(True for _ in leaves(values)) or any(one["is"] == "device" for one in values.values())


def _found(module: Any, target: Target) -> tuple[Any, Any]:
    """The class of a target, if it has one, and the function that is called."""
    name, _, method = target.qualname.partition(".")
    found = getattr(module, name)
    if target.kind == MODULE:
        return found, found.forward
    if target.kind == METHOD:
        return found, getattr(found, method)
    return None, found


def _slots(target: Target, call: script.Call, owner: Any, function: Any) -> Iterator[Slot]:
    on_instance = owner is not None and not call.static
    if on_instance:
        made, called = located(owner.__init__), located(function)
        node, own = (None, None) if made is None else (made.node, made.owner)
        yield from slots_of(owner, node, INIT, owner=own)
        yield from open_ended(owner, INIT)
        if own is not None and called is not None and called.owner is own:
            yield from before(own, called.node, owner)
    yield from slots_of(function, definition(function), skip=1 if on_instance else 0)
    yield from open_ended(function, "")


def _deciding(function: Any, slots: Sequence[Slot]) -> Callable[[BaseException], Sequence[str]]:
    """Which slots an error has to do with, by the text of the function's file."""
    found = located(function)
    if found is None:
        return lambda error: ()
    first = {slot.name: slot.key for slot in slots if slot.key.startswith(BEFORE)}
    keys = [slot.key for slot in slots]
    return Deciding(found.tree, found.path, found.node, found.owner, keys, first).of_error


def _positional_only(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(one.kind is one.POSITIONAL_ONLY for one in parameters)


def _execute(text: str, name: str) -> dict[str, Any]:
    """Run a script in this process; its names."""
    random.seed(0)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(0)
    names: dict[str, Any] = {"__name__": "__main__", "__file__": name}
    exec(compile(text, name, "exec"), names)  # noqa: S102 (this is what the process is for)
    return names


def _run(text: str, name: str, root: str) -> dict[str, Any]:
    """What a script does on this machine."""
    recorder = _RECORDER[-1]
    recorder.limitations.clear()
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    sys.argv = [name]
    answer: dict[str, Any] = {"ended": "ran", "exception": "", "text": "", "story": None, "frames": [], "trace": ""}
    try:
        names = _execute(text, name)
    except BaseException as error:  # noqa: BLE001 (what the user's code raises is what is asked for)
        answer.update(_told(error, root))
    else:
        answer["result"] = compare.summary(names.get("result"))
        answer["gathered"] = compare.is_gathered(names.get("result"))
        answer["held"] = sum(_on_accelerator(value) for key, value in names.items() if key != "result")
    answer["limits"] = list(recorder.limitations)
    return answer


def _told(error: BaseException, root: str) -> dict[str, Any]:
    story = story_of(error)
    of_places = story is not None or is_of_places(text_of(error))
    cut(error)
    step, frames = error.__traceback__, []
    while step is not None:
        code = step.tb_frame.f_code
        if os.path.realpath(code.co_filename).startswith(root):
            frames.append([code.co_filename, step.tb_lineno, getattr(code, "co_qualname", code.co_name)])
        step = step.tb_next
    unsupported = type(error).__name__ == UNSUPPORTED
    frames = frames or _in_a_replica(text_of(error), root)
    return {
        "ended": "limit" if unsupported else "raised",
        "exception": type(error).__name__,
        "text": text_of(error),
        "of_places": of_places,
        "story": story,
        "frames": frames,
        "trace": "".join(traceback.format_exception(type(error), error, _from_script(error)))[-6000:],
    }


def _in_a_replica(text: str, root: str) -> list[list[Any]]:
    """The frames of the project where another thread raised, of which `torch.nn.DataParallel` tells as text."""
    found = re.findall(r'^ +File "(.+)", line (\d+), in (.+)$', text, re.MULTILINE)
    return [[file, int(line), name] for file, line, name in found if os.path.realpath(file).startswith(root)]


def _from_script(error: BaseException) -> Any:
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code.co_filename == __file__:
        step = step.tb_next
    return step


def _on_accelerator(value: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        return any(one.device.type != "cpu" for one in registered_tensors(value))
    if isinstance(value, (torch.Tensor, dict, list, tuple)):
        return any(one.device.type != "cpu" for one in tensors_in(value))
    return False


__all__ = ["answer", "plain", "prepare"]
