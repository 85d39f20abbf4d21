"""Time programs under simulated accelerators beside the same programs on the plain CPU, in one run.

    python benchmarks/simulation.py
    python benchmarks/simulation.py mlp indexing
    python benchmarks/simulation.py --write docs/performance.md

Every measurement is a fresh process on one thread, in CPU seconds. Rounds alternate between the configurations, so that
a busy machine slows all of them; of each process the fastest step counts, and of each configuration the median process.
The steps are in `steps.py`; the last rows are what `torchdevlint run` adds to a program that only imports torch.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import tables  # noqa: E402
from corpus import CorpusError  # noqa: E402

from benchmarks.steps import STEPS  # noqa: E402

PLAIN = "plain CPU"
FUNCTION_MODE = "empty function mode"
CONFIGURATIONS = (PLAIN, FUNCTION_MODE, "empty dispatch mode", "simulated", "simulated and recorded")
WARM_UP = 5


def measure(model: str, configuration: str, steps: int) -> dict[str, float]:
    """CPU milliseconds of the fastest step, and how many operations reach the dispatch mode in one on the plain CPU."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    make = STEPS[model]
    if configuration == PLAIN:
        return {"ms": _fastest_ms(make("cpu"), steps)}
    if configuration == FUNCTION_MODE:
        from torch.overrides import TorchFunctionMode

        class Calling(TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return func(*args, **(kwargs or {}))

        step = make("cpu")
        with Calling():
            return {"ms": _fastest_ms(step, steps)}
    if configuration == "empty dispatch mode":
        mode, count = _empty_mode()
        step = make("cpu")
        with mode:
            fastest = _fastest_ms(step, steps)
            count[0] = 0
            step()
        return {"ms": fastest, "operations": count[0]}
    from torchdevlint.runtime.record.recorder import Recorder
    from torchdevlint.runtime.simulated import simulate

    with simulate(1, recorder=Recorder() if configuration.endswith("recorded") else None):
        return {"ms": _fastest_ms(make("cuda"), steps)}


def _empty_mode() -> tuple[Any, list[int]]:
    """A dispatch mode that only counts and calls: what the approach costs at least."""
    from torch.utils._python_dispatch import TorchDispatchMode

    count = [0]

    class Empty(TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            count[0] += 1
            return func._op(*args, **(kwargs or {}))

    return Empty(), count


def _fastest_ms(step: Callable[[], None], steps: int) -> float:
    for _ in range(WARM_UP):
        step()
    taken = []
    for _ in range(steps):
        start = time.process_time()
        step()
        taken.append(time.process_time() - start)
    return 1000 * min(taken)


def _in_a_process(model: str, configuration: str, steps: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", model, configuration, "--steps", str(steps)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise CorpusError(f"{model} on {configuration} failed: {done.stderr.strip().splitlines()[-1:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _rows(model: str, steps: int, rounds: int) -> list[tuple[str, ...]]:
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in CONFIGURATIONS}
    for number in range(rounds):
        for name in CONFIGURATIONS:
            print(f"{model}: round {number + 1}/{rounds} {name}", file=sys.stderr)
            taken[name].append(_in_a_process(model, name, steps))
    ms = {name: statistics.median(one["ms"] for one in results) for name, results in taken.items()}
    operations = taken["empty dispatch mode"][0]["operations"]
    return [
        (
            f"{model}, {name}",
            f"{ms[name]:.2f}",
            f"{min(one['ms'] for one in taken[name]):.2f}-{max(one['ms'] for one in taken[name]):.2f}",
            f"{ms[name] / ms[PLAIN]:.2f}",
            "" if name == PLAIN else f"{1000 * (ms[name] - ms[PLAIN]) / operations:.1f}",
        )
        for name in CONFIGURATIONS
    ]


STARTS = {
    "start-up, import torch": (sys.executable,),
    "start-up, torchdevlint run": (sys.executable, "-m", "torchdevlint", "run", "--", sys.executable),
}


def _start_up(rounds: int) -> list[tuple[str, ...]]:
    """CPU milliseconds of a program that does no more than import torch, with all its processes."""
    taken: dict[str, list[float]] = {name: [] for name in STARTS}
    for number in range(rounds):
        for name, command in STARTS.items():
            print(f"round {number + 1}/{rounds} {name}", file=sys.stderr)
            before = _children_seconds()
            done = subprocess.run([*command, "-c", "import torch"], capture_output=True, text=True, check=False)
            if done.returncode:
                raise CorpusError(f"{name} failed: {done.stderr.strip().splitlines()[-1:]}")
            taken[name].append(1000 * (_children_seconds() - before))
    ms = {name: statistics.median(times) for name, times in taken.items()}
    plain = next(iter(ms.values()))
    return [
        (name, f"{ms[name]:.0f}", f"{min(times):.0f}-{max(times):.0f}", f"{ms[name] / plain:.2f}", "")
        for name, times in taken.items()
    ]


def _children_seconds() -> float:
    used = os.times()
    return used.children_user + used.children_system


def _table(names: Sequence[str], steps: int, rounds: int) -> Iterator[tuple[str, ...]]:
    for name in names:
        yield from _rows(name, steps, rounds)
    yield from _start_up(rounds)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps_of", nargs="*", metavar="STEP", help=f"of {', '.join(STEPS)}; all by default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--write", type=Path, help="the page whose table is replaced")
    parser.add_argument("--measure", nargs=2, metavar=("MODEL", "CONFIGURATION"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = [name for name in options.steps_of if name not in STEPS]
    if unknown:
        parser.error(f"no step is called {unknown[0]}: there are {', '.join(STEPS)}")
    if options.measure:
        print(json.dumps(measure(*options.measure, options.steps)))
        return 0
    try:
        rows = list(_table(options.steps_of or list(STEPS), options.steps, options.rounds))
    except (CorpusError, OSError) as error:
        print(f"simulation: {error}", file=sys.stderr)
        return 2
    import torch

    header = ("step", "CPU ms", "range", "x plain", "us/operation added")
    print(tables.columns(header, rows))
    if options.write:
        machine = f"CPython {platform.python_version()} on {platform.system()} {platform.machine()}, torch"
        text = f"{machine} {torch.__version__}; median of {options.rounds} alternating rounds.\n\n"
        tables.refresh(options.write, "simulation", text + tables.markdown(header, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
