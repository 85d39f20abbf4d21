"""Libraries that are there for CUDA alone: a program whose files import one in any case is of machines that have it.

So are extensions of the project's own that consist of kernels for CUDA, built by a ``setup.py``, or where a file is
imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from torchdevlint.flow.scope.imported_accelerators import MOST_FILES
from torchdevlint.flow.scope.names import public_path
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in

_FOR_CUDA = frozenset(
    """
    causal_conv1d cupy cupyx diff_gaussian_rasterization flash_attn gsplat isaaclab knn_cuda mamba_ssm nvdiffrast
    pointnet2_ops pycuda pynvrtc simple_knn tensorrt tinycudann torch2trt torch_tensorrt
    """.split()
)
"""What does nothing without CUDA; ``spconv``, ``kaolin`` and ``xformers`` have other code as well."""
_EXTENSION = "CUDAExtension"
_ELSEWHERE_AS_WELL = regex(r"\bCppExtension\b|[/_]cpu\b|\bcpu[/_]")
"""What is said where there are kernels for the CPU, too."""
_BUILDER = "torch.utils.cpp_extension.load"


def imports_cuda_library(program: ModuleFile, project: Project) -> bool:
    """Whether a program, or what it imports of its project, imports such a library with no way around it."""
    return _Needing(project).needs(program, program.tree.body)


class _Needing:
    def __init__(self, project: Project) -> None:
        self._project = project
        self._seen: set[str] = set()
        self._built: dict[str, bool] = {}

    def needs(self, file: ModuleFile, body: Iterable[ast.stmt]) -> bool:
        """Whether statements of the top level of a file do nothing without CUDA; of what is tried, all ways."""
        followed: list[ModuleFile] = []
        for statement in body:
            if _builds_kernels(statement):
                return True
            if isinstance(statement, ast.Try) and self._is_tried_in_vain(file, statement):
                return True
            for module, dots, names in _imported(statement):
                if self._is_for_cuda(file, module, dots, names):
                    return True
                followed += _files(self._project, file, module, dots, names)
        return any(self._file_needs(each) for each in followed)

    def _file_needs(self, file: ModuleFile) -> bool:
        if file.path in self._seen or len(self._seen) > MOST_FILES:
            return False
        self._seen.add(file.path)
        return self.needs(file, file.tree.body)

    def _is_tried_in_vain(self, file: ModuleFile, tried: ast.Try) -> bool:
        handlers = (each.body for each in tried.handlers)
        return self.needs(file, tried.body) and all(
            isinstance(each[-1], ast.Raise) or self.needs(file, each) for each in handlers
        )

    def _is_for_cuda(self, file: ModuleFile, module: str, dots: int, names: tuple[str, ...]) -> bool:
        """Whether an import leads to no file of the project, but to what is for CUDA alone."""
        found = self._project.locate(file.path, module, dots)
        if not dots and module.partition(".")[0] in _FOR_CUDA and found is None:
            return True
        if found is None:
            return any(self._is_built_for_cuda(each) for each in (module.rpartition(".")[2], *names) if each)
        held = self._project.library.get(found) if found.endswith(".py") else None
        bound = frozenset() if held is None else held.bindings.keys()
        gone = (each for each in names if each not in bound and self._project.submodule(found, each) is None)
        return any(self._is_built_for_cuda(each) for each in gone)

    def _is_built_for_cuda(self, name: str) -> bool:
        """Whether a script of the project builds an extension of this name out of kernels for CUDA alone."""
        if name not in self._built:
            paths = self._project.saying((_EXTENSION,)) or ()
            texts = [each.text for path in paths if (each := self._project.text_of(path)) is not None]
            written = re.compile(rf"['\"./]{re.escape(name)}['\"]")
            naming = [each for each in texts if written.search(each)]
            self._built[name] = bool(naming) and not any(map(_ELSEWHERE_AS_WELL.search, naming))
        return self._built[name]


def _imported(statement: ast.stmt) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """The modules that a statement imports, with the dots before them and the names taken of them."""
    if isinstance(statement, ast.Import):
        yield from ((alias.name, 0, ()) for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        yield statement.module or "", statement.level, tuple(alias.name for alias in statement.names)


def _builds_kernels(statement: ast.stmt) -> bool:
    """``load("name", ["kernels.cu"])`` of PyTorch's extensions, run where a file is imported."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)):
        return False
    calls = [each for each in nodes_in(statement, ast.Call) if public_path(each.func) == _BUILDER]
    constants = [part.value for call in calls for part in nodes_in(call, ast.Constant)]
    texts = [each for each in constants if isinstance(each, str)]
    is_of_kernels = any(each.endswith((".cu", ".cuh")) for each in texts)
    return is_of_kernels and not any("cpu" in each for each in texts)


def _files(project: Project, file: ModuleFile, module: str, dots: int, names: tuple[str, ...]) -> Iterator[ModuleFile]:
    path = project.locate(file.path, module, dots)
    below = [project.submodule(path, each) for each in names] if path is not None else []
    for each in (path, *below):
        if each is not None and each.endswith(".py"):
            found = project.module(each)
            if found is not None:
                yield found
