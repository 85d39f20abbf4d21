"""Loaded by every Python that `torchdevlint run` starts, because this folder leads its PYTHONPATH.

Watches for the import of torch, then steps aside: the folder leaves `sys.path`, and the ``sitecustomize`` that would
have been loaded without it is loaded. Whatever goes wrong here must not stop the program.
"""

import importlib.util
import os
import sys


def _package(name):  # type: ignore[no-untyped-def]
    """Make our package importable, also for a Python that it is not installed in, without touching `sys.path`."""
    if name in sys.modules:
        return
    root = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))  # noqa: PTH100, PTH118, PTH120
    start = os.path.join(root, "__init__.py")  # noqa: PTH118
    spec = importlib.util.spec_from_file_location(name, start, submodule_search_locations=[root])
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def _begin():  # type: ignore[no-untyped-def]
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]  # noqa: PTH100
    if os.environ.get("TORCHDEVLINT_RECORD"):
        try:
            _package("torchdevlint")  # type: ignore[no-untyped-call]
            from torchdevlint.runtime.start import boot

            boot.begin()
        except Exception as error:  # noqa: BLE001
            sys.stderr.write(f"torchdevlint: this process is not checked: {type(error).__name__}: {error}\n")
    own = sys.modules.pop("sitecustomize")
    sys.path_importer_cache.pop(here, None)
    spec = importlib.util.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        sys.modules["sitecustomize"] = own  # the import that is under way expects it there
    else:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


_begin()  # type: ignore[no-untyped-call]
