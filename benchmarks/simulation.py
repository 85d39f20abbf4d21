"""Time a training step under simulated accelerators beside the same step on the plain CPU, in one run.

    python benchmarks/simulation.py
    python benchmarks/simulation.py --write docs/performance.md

Every measurement is a fresh process on one thread. Rounds alternate between the configurations, so that a busy machine
slows all of them; of each process the median step counts, and of each configuration the median process.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import tables  # noqa: E402
from corpus import CorpusError  # noqa: E402

PLAIN = "plain CPU"
CONFIGURATIONS = (PLAIN, "empty dispatch mode", "simulated", "simulated and recorded")
WARM_UP = 5


def transformer(device: str) -> Callable[[], None]:
    """Two encoder layers of width 64 on 8 sequences of 32 tokens, cross entropy, AdamW."""
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.Sequential(nn.Embedding(100, 64), nn.TransformerEncoder(layer, 2), nn.Linear(64, 100)).to(device)
    tokens = torch.randint(0, 100, (8, 32)).to(device)
    return _step(model, torch.optim.AdamW(model.parameters()), tokens, tokens.flatten())


def cnn(device: str) -> Callable[[], None]:
    """Two convolutions with batch normalisation on 8 images of 32 x 32, cross entropy, SGD with momentum."""
    import torch
    from torch import nn

    model = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        *(nn.Flatten(), nn.Linear(32, 10)),
    ).to(device)
    images, labels = torch.rand(8, 3, 32, 32).to(device), torch.randint(0, 10, (8,)).to(device)
    return _step(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), images, labels)


MODELS = {"transformer": transformer, "cnn": cnn}


def _step(model: Any, optimizer: Any, inputs: Any, targets: Any) -> Callable[[], None]:
    from torch.nn import functional

    def step() -> None:
        optimizer.zero_grad()
        output = model(inputs)
        functional.cross_entropy(output.flatten(0, -2), targets).backward()
        optimizer.step()

    return step


def measure(model: str, configuration: str, steps: int) -> dict[str, float]:
    """Milliseconds of the median step, and how many operations reach the dispatch mode in one."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    make = MODELS[model]
    if configuration == PLAIN:
        return {"ms": _median_ms(make("cpu"), steps)}
    if configuration == "empty dispatch mode":
        mode, count = _empty_mode()
        step = make("cpu")
        with mode:
            median = _median_ms(step, steps)
            count[0] = 0
            step()
        return {"ms": median, "operations": count[0]}
    from torchdevlint.runtime.record.recorder import Recorder
    from torchdevlint.runtime.simulated import simulate

    with simulate(1, recorder=Recorder() if configuration.endswith("recorded") else None):
        return {"ms": _median_ms(make("cuda"), steps)}


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


def _median_ms(step: Callable[[], None], steps: int) -> float:
    for _ in range(WARM_UP):
        step()
    taken = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    return 1000 * statistics.median(taken)


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


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--write", type=Path, help="the page whose table is replaced")
    parser.add_argument("--measure", nargs=2, metavar=("MODEL", "CONFIGURATION"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(*options.measure, options.steps)))
        return 0
    try:
        rows = [row for model in MODELS for row in _rows(model, options.steps, options.rounds)]
    except (CorpusError, OSError) as error:
        print(f"simulation: {error}", file=sys.stderr)
        return 2
    import torch

    header = ("training step", "ms", "range", "x plain", "us/operation added")
    print(tables.columns(header, rows))
    if options.write:
        machine = f"CPython {platform.python_version()} on {platform.system()} {platform.machine()}, torch"
        text = f"{machine} {torch.__version__}; median of {options.rounds} alternating rounds.\n\n"
        tables.refresh(options.write, "simulation", text + tables.markdown(header, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
