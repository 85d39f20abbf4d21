"""What a fork of a process that imported torch does to be the interpreter that a command line starts.

``python program.py``, ``python -m module`` and ``python -c code`` are what they are in a process of their own:
arguments, environment, import path, ``sitecustomize``, ``__main__``, tracebacks, exit handlers and exit status. torch
is not there until it is imported, and then it is there at once. What the interpreter reads before it can run Python
(its options, its hash seed) is what the process above was started with; `can_be` says where that does. At the end
modules are not torn down, and handlers of C libraries do not run.
"""

from __future__ import annotations

import atexit
import importlib.util
import io
import multiprocessing.process
import os
import runpy
import signal
import sys
import tempfile
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import NoReturn

HEEDED = {"PYTHONPATH", "PYTHONWARNINGS", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONIOENCODING"}
"""Variables of the interpreter that a fork reads when it starts."""
FIXED = {"PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
"""Variables that are read before Python or torch starts: those of the process above, and so of every fork."""
LAST = "(what is imported in a fork comes after this)"
HIDDEN = ("torch", "torchdevlint")
"""Packages that a fork has not imported until it does so."""

_exit = os._exit
_library = [path for path in sys.path[1:] if path not in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
_hidden: dict[str, ModuleType] = {}


def hide() -> None:
    """Called once, by the process above, when it has imported all that forks should find imported."""
    _hidden.update((name, module) for name, module in sys.modules.items() if _top(name) in HIDDEN)
    for name in [*_hidden, *(name for name in sys.modules if _top(name) == "tests")]:
        del sys.modules[name]
    sys.modules[LAST] = sys
    sys.meta_path.insert(0, _Finder())


def torch_is_hidden() -> bool:
    """Whether this process has not imported torch yet, so that its forks need not have either."""
    return bool(_hidden) and "torch" not in sys.modules


def can_be(arguments: Sequence[str], env: Mapping[str, str], cwd: str) -> bool:
    """Whether a fork in the folder `cwd` can stand for ``python *arguments`` with the environment `env`."""
    known = len(arguments) > 1 and arguments[0] in ("-c", "-m")
    if not known and not (arguments and Path(cwd, arguments[0]).is_file()):
        return False
    read = {name: value for name, value in env.items() if name.startswith("PYTHON") or name in FIXED}
    return all(name in HEEDED or FIXED.get(name) == value for name, value in read.items())


def run(arguments: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Be ``python *arguments`` and end. Streams and the current folder are what they should be already."""
    _forget(env)
    streams = _open_streams(env.get("PYTHONIOENCODING", ""), bool(env.get("PYTHONUNBUFFERED")))
    sys.argv = [arguments[0], *arguments[2:]] if arguments[0] in ("-c", "-m") else list(arguments)
    sys.orig_argv = [sys.executable, *arguments]
    sys.path[:] = _import_path(env)
    with suppress(ModuleNotFoundError):
        import sitecustomize  # noqa: F401 -- as `site` does
    status = _status_of(_main(arguments))
    with suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
    with suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (*streams, sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    if status == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    _exit(status & 0xFF)


def _forget(env: Mapping[str, str]) -> None:
    """Leave behind what the process above, or another fork between, has changed."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(env)
    later = takewhile(lambda name: name != LAST, reversed(sys.modules))  # to look at all would copy a page for each
    for name in [name for name in later if _top(name) not in sys.stdlib_module_names]:
        del sys.modules[name]
    sys.modules.pop("sitecustomize", None)
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]
    tempfile.tempdir = None
    multiprocessing.process.ORIGINAL_DIR = str(Path.cwd())  # type: ignore[attr-defined]
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    sys.warnoptions[:] = filter(None, env.get("PYTHONWARNINGS", "").split(","))
    warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]


def _open_streams(encoding: str, unbuffered: bool) -> list[io.TextIOWrapper]:
    """The three streams, as `Py_Initialize` opens them in UTF-8 mode; those that are written to."""
    name, _, errors = encoding.partition(":")
    errors = errors or ("strict" if name else "surrogateescape")
    stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), name or "utf-8", errors)
    opened = [stdin]
    for number in (1, 2):
        raw = io.FileIO(number, "w", closefd=False)
        stream = io.TextIOWrapper(
            raw if unbuffered else io.BufferedWriter(raw),  # type: ignore[arg-type]
            name or "utf-8",
            "backslashreplace" if number == 2 else errors,
            line_buffering=number == 2 or raw.isatty(),
            write_through=unbuffered,
        )
        opened.append(stream)
    for name, stream in zip(("stdin", "stdout", "stderr"), opened, strict=True):
        stream.mode = "r" if name == "stdin" else "w"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    return opened[1:]


def _import_path(env: Mapping[str, str]) -> list[str]:
    given = env["PYTHONPATH"].split(os.pathsep) if env.get("PYTHONPATH") else []
    return list(dict.fromkeys([*map(os.path.abspath, given), *_library]))


def _main(arguments: Sequence[str]) -> Callable[[], object]:
    """What runs the program, in a new ``__main__`` that is there already."""
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=__builtins__, __annotations__={}, __cached__=None)
    sys.modules["__main__"] = module
    if arguments[0] == "-m":
        if not hasattr(_hidden.get(arguments[1]), "__path__"):
            _hidden.pop(arguments[1], None)  # it is run, not imported
        sys.path.insert(0, str(Path.cwd()))
        return lambda: runpy._run_module_as_main(arguments[1])  # type: ignore[attr-defined]
    if arguments[0] == "-c":
        sys.path.insert(0, "")
        return lambda: exec(compile(arguments[1], "<string>", "exec"), module.__dict__)
    path = str(Path(arguments[0]).absolute())
    sys.path.insert(0, str(Path(path).resolve().parent))
    loader = SourceFileLoader("__main__", path)
    module.__dict__.update(__file__=path, __loader__=loader)
    return lambda: exec(compile(loader.get_data(path), path, "exec", dont_inherit=True), module.__dict__)


def _status_of(main: Callable[[], object]) -> int:
    """The exit status of a program; its uncaught exception is told as Python does."""
    try:
        main()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except BaseException as error:  # noqa: BLE001 (all that a program raises ends it)
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
        try:
            sys.excepthook(type(error), error.with_traceback(trace), trace)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


class _Finder:
    """Finds a hidden package as if it were on the import path, and gives what was imported before."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in _hidden:
            return None
        real = _hidden[name].__spec__
        spec = importlib.util.spec_from_loader(name, _Loader(), is_package=hasattr(_hidden[name], "__path__"))
        if spec is not None and real is not None:
            spec.origin, spec.has_location = real.origin, real.has_location
            spec.submodule_search_locations = real.submodule_search_locations
        return spec


class _Loader:
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self.real = _hidden[spec.name].__spec__
        return _hidden[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Import all of the package: its modules know each other."""
        module.__spec__ = self.real
        package = _top(module.__name__)
        own = {name: each for name, each in _hidden.items() if _top(name) == package}
        there = sys.modules.get(package, own[package])
        sys.modules.update({**own, package: there})
        if package == "torch":
            own[package].default_generator.seed()  # each process has its own
        if there is not own[package]:  # it was made by hand, as `torchdevlint run` makes it
            for name, each in own.items():
                if name.count(".") == 1:
                    setattr(there, name.rpartition(".")[2], each)


def _top(name: str) -> str:
    return name.partition(".")[0]
