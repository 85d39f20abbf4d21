"""The name that a file has for something of a library."""

from __future__ import annotations

import ast

from torchdevlint.source.nodes import nodes_in, once_a_node


def spelled(tree: ast.Module, public: str) -> str | None:
    """How a file writes a public name such as ``torch.nn.ModuleList`` by what it imports on top; None if it does not.

    The shortest way counts, through names that nothing else in the file binds.
    """
    found = [text + public[len(name) :] for name, text in _imported(tree) if public == name or _is_part(name, public)]
    return min(found, key=lambda each: (each.count("."), each), default=None)


def _is_part(name: str, public: str) -> bool:
    return public.startswith(f"{name}.")


@once_a_node
def _imported(tree: ast.Module) -> list[tuple[str, str]]:
    """Public names, each with the text that the file has for it."""
    found = []
    for each in tree.body:
        if isinstance(each, ast.Import):
            for alias in each.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                found.append((name, alias.asname or name))
        elif isinstance(each, ast.ImportFrom) and each.module and not each.level:
            found += [(f"{each.module}.{alias.name}", alias.asname or alias.name) for alias in each.names]
    bound = _bound_otherwise(tree)
    return [pair for pair in found if pair[1] not in bound]


def _bound_otherwise(tree: ast.Module) -> frozenset[str]:
    names = {each.id for each in nodes_in(tree, ast.Name) if not isinstance(each.ctx, ast.Load)}
    names.update(each.arg for each in nodes_in(tree, ast.arg))
    names.update(each.name for each in nodes_in(tree, ast.FunctionDef))
    names.update(each.name for each in nodes_in(tree, ast.ClassDef))
    return frozenset(names)
