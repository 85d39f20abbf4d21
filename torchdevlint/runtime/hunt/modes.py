"""The ways in which a target is used, each a script of its own that runs through on the control before it counts."""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.runtime.execute.called import MODULE, is_argument
from torchdevlint.runtime.execute.values import Description
from torchdevlint.runtime.hunt.script import (
    Call,
    Script,
    called,
    called_at,
    has_one_form,
    made,
    plain,
    setting_up,
    variables,
)

CALL, SECOND, EVAL, BACKWARD = "call", "second-device", "eval", "backward"
DEEPCOPY, BACK, STATE_DICT, PARALLEL, AUTOCAST = "deepcopy", "to-and-back", "state-dict", "data-parallel", "autocast"
MODES = (CALL, EVAL, BACKWARD, SECOND, DEEPCOPY, BACK, STATE_DICT, PARALLEL, AUTOCAST)
SIMPLE = frozenset({CALL, EVAL, BACKWARD})
"""Modes in which a failure may come from where the arguments are put."""


def scripts(call: Call, paths: tuple[str, ...] = ()) -> Iterator[tuple[str, Script]]:
    """The modes of a call with their scripts, the plain one first.

    `paths` lead to what its result holds that has a gradient.
    """
    name = call.target.name
    yield CALL, plain(call)
    yield SECOND, plain(call, f"{name}, on the second accelerator", "cuda:1")
    if paths:
        loss = " + ".join(f"result{path}.sum()" for path in paths)
        yield (
            BACKWARD,
            Script(call, f"{name}, backward", "cuda", (*plain(call).body, f"({loss}).backward()"), paths=paths),
        )
    if call.target.kind == MODULE:
        yield from _of_module(call, name)


def _of_module(call: Call, name: str) -> Iterator[tuple[str, Script]]:
    ready = setting_up(call)

    def of(mode: str, *body: str, **more: object) -> tuple[str, Script]:
        return mode, Script(call, f"{name}, {mode}", "cuda", body, **more)  # type: ignore[arg-type]

    yield of(EVAL, *ready, "module.eval()", f"result = {called(call)}")
    yield of(DEEPCOPY, *ready, "module = copy.deepcopy(module)", f"result = {called(call)}", imports=("copy",))
    if has_one_form(call):
        yield of(
            BACK,
            *ready,
            called_at(call, "device"),
            'module.to("cpu")',
            called_at(call, '"cpu"'),
            "module.to(device)",
            f"result = {called_at(call, 'device')}",
            as_function=True,
        )
        yield of(
            STATE_DICT,
            *ready,
            "file = io.BytesIO()",
            "torch.save(module.state_dict(), file)",
            "file.seek(0)",
            f"other = {made(call)}",
            "other.load_state_dict(torch.load(file, map_location=second))",
            "other.to(second)",
            f"result = {called_at(call, 'second', 'other')}",
            imports=("io",),
            second="cuda:1",
            as_function=True,
        )
    if all(_is_scattered(one) for key, one in call.values.items() if is_argument(key)):
        yield of(
            PARALLEL,
            *ready,
            'module = torch.nn.DataParallel(module, [0, 1] if device != "cpu" else None)',
            f"result = {called(call)}",
        )
    yield of(AUTOCAST, *ready, "with torch.autocast(device, torch.float16):", f"    result = {called(call)}")


def _is_scattered(description: Description) -> bool:
    """Whether a replica of `DataParallel` gets its part of an argument; a device, or an object, stays as it is."""
    of = description.get("of", ())
    if description["is"] in ("list", "tuple", "dict"):
        return all(_is_scattered(each) for each in (of.values() if isinstance(of, dict) else of))
    return description["is"] in ("tensor", "value", "default", "name", "function")


def halved(call: Call) -> Script:
    """The call with the first half of each argument, as a replica of `DataParallel` gets it."""
    given = "".join(f"{each}, " for each in variables(call)).rstrip()
    half = f"torch.utils._pytree.tree_map_only(torch.Tensor, lambda one: one.chunk(2)[0], ({given}))"
    body = (*setting_up(call), *([f"{given} = {half}"] if given else []), f"result = {called(call)}")
    return Script(call, f"{call.target.name}, half of it", "cuda", body)
