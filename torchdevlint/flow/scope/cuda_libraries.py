"""Libraries that are there for CUDA alone: a program whose files import one in any case is of machines that have it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.imported_accelerators import MOST_FILES
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project

_FOR_CUDA = frozenset(
    """
    cupy cupyx diff_gaussian_rasterization flash_attn nvdiffrast pycuda pynvrtc simple_knn tensorrt tinycudann torch2trt
    torch_tensorrt
    """.split()
)
"""What does nothing without CUDA; ``spconv``, ``kaolin`` and ``xformers`` have other code as well."""


def imports_cuda_library(program: ModuleFile, project: Project) -> bool:
    """Whether a program, or what it imports of its project, imports such a library with no way around it."""
    level, seen = [program], {program.path}
    while level and len(seen) <= MOST_FILES:
        found: list[ModuleFile] = []
        for file in level:
            for module, dots, names in _imported(file.tree):
                if not dots and module.partition(".")[0] in _FOR_CUDA and project.locate(file.path, module, 0) is None:
                    return True
                found += _files(project, file, module, dots, names)
        level = [each for each in found if each.path not in seen]
        seen.update(each.path for each in level)
    return False


def _imported(tree: ast.Module) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """The modules that a file imports as soon as it is run, with the dots before them and the names taken of them."""
    for each in tree.body:
        if isinstance(each, ast.Import):
            yield from ((alias.name, 0, ()) for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            yield each.module or "", each.level, tuple(alias.name for alias in each.names)


def _files(
    project: Project, file: ModuleFile, module: str, dots: int, names: tuple[str, ...]
) -> Iterator[ModuleFile]:
    path = project.locate(file.path, module, dots)
    below = [project.submodule(path, each) for each in names] if path is not None else []
    for each in (path, *below):
        if each is not None and each.endswith(".py"):
            found = project.library.get(each)
            project.used(each, "", found)
            if found is not None:
                yield found
