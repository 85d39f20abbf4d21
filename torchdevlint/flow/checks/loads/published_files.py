"""Which files a load may read, and whether they are published weights, nearly all of which were saved from the CPU.

Published weights are known by their names: by the hash that ``torch.hub`` checks, by that of the data that weights are
published for, or of a model of a known size, or since an address in the project, be it in a comment, ends in that name.
So are files that a function of the project downloads and holds against a hash, as ``torch.hub`` does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.checks.loads.file_names import Scopes, file_name, scopes_of
from torchdevlint.flow.checks.loads.saved_names import bound_to
from torchdevlint.flow.checks.loads.telling_names import HOLE
from torchdevlint.flow.checks.loads.writers import is_written, name_of
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import call_sites
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, last_name, parameter_names
from torchdevlint.flow.scope.programs import mentions_accelerators, names_accelerators, without_comments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Const, Value
from torchdevlint.patterns import regex
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in

_HASH = regex(r"-[0-9a-f]{8,}(?=\.\w+$)")
_OF_PUBLICATIONS = regex(
    r"imagenet|kinetics|[-_]coco[-_.]|libri(?:speech)?[-_]?\d{3}|pre-?trained|[-_]pre\."
    r"|^(?:data2vec|hubert|wav2vec|wavlm|whisper)[\w.]*[-_](?:tiny|base|small|medium|large)[-_.+]"
    r"|^(?:resnet|resnext|densenet|vgg|googlenet|inception|squeezenet|mobilenet|mnasnet|shufflenet|efficientnet|regnet)"
    r"[-_]?(?:v|b|x)?\d[^/]*\.(?:pth|pt|pkl|bin)$",
    re.IGNORECASE,
)
_OF_SOMEBODY = regex(r"(?:[A-Z]:)?[/\\]+(?:home|Users)[/\\]+[\w.-]+[/\\]|[D-Z]:[/\\]")
"""A folder in a home, or on a further drive of somebody's Windows machine."""
_ADDRESS = regex(r"https?://[^\s'\"`<>)]*/([\w.+-]+\.\w+)")
_FETCHES = regex(r"download|urlretrieve|urlopen")
_CHECKS = regex(r"sha1|sha256|sha512|md5|checksum")
"""What is called by a function that downloads a file, and by one that looks whether it is the published one."""
_OF_TRAINING = (".ckpt", ".tar")
"""Suffixes of checkpoints that training writes, with the state of the optimizer, where it runs."""
_EXPORTING = ("jit.script", "jit.trace", "jit.save", "to_torchscript")
_EXPORTS = regex("|".join(map(re.escape, _EXPORTING)))
_JOINING = frozenset("join Path PurePath str".split())
"""What gives a path that begins with its first argument."""
_LOADED_TO_CPU = regex(r"map_location\s*=\s*(?:torch\.device\(\s*)?['\"]cpu['\"]")
_MOST_IMPORTED = 60
_MOST_NAMES = 4
_MOST_CALLS = 3
"""How many functions a path is followed through that hand it on."""


def is_published(frame: Frame, load: ast.Call, path: Value) -> bool:
    """Whether all files that a load may read are published under their names, and nothing in the project writes one."""
    name = name_of(frame.machine.tree, load, path)
    names = {name} if name is not None else set(_given(frame, load) or ())
    names.discard("")
    if name is None and _is_fetched_and_checked(frame, load):
        return True
    return bool(names) and all(_is_published(frame, each) for each in names)


def is_of_one_home(tree: ast.Module, load: ast.Call, path: Value) -> bool:
    """Whether a path is written down, or begins, with somebody's home: nobody else can read it as it stands."""
    if isinstance(path, Const):
        text = path.value
    else:
        text = _beginning(scopes_of(tree, load), load.args[0], _MOST_NAMES) if load.args else None
    return isinstance(text, str) and _OF_SOMEBODY.match(text) is not None


def _beginning(scopes: Scopes, node: ast.expr, names: int) -> object:
    """The literal that a path begins with: of ``"a" + b``, ``f"a{b}"``, ``os.path.join("a", b)``, ``Path("a") / b``.

    Names are followed that are bound to one value alone: ``ROOT / name``.
    """
    if isinstance(node, ast.BinOp):
        return _beginning(scopes, node.left, names)
    if isinstance(node, ast.JoinedStr):
        return _beginning(scopes, node.values[0], names) if node.values else None
    if isinstance(node, ast.FormattedValue):
        return _beginning(scopes, node.value, names)
    if isinstance(node, ast.Call):
        joins = last_name(node.func) in _JOINING and bool(node.args)
        return _beginning(scopes, node.args[0], names) if joins else None
    if isinstance(node, ast.Name) and names:
        around, bound = bound_to(scopes, node.id)
        value = bound[0].value if len(bound) == 1 and bound[0].place is None else None
        return None if value is None else _beginning(around, value, names - 1)
    return node.value if isinstance(node, ast.Constant) else None


def is_exported_elsewhere(frame: Frame, name: str) -> bool:
    """Whether a module in TorchScript is loaded that no code of the project exports, or none but programs on the CPU.

    Such modules are traced or scripted for others to run, and nearly always on the CPU.
    """
    others = frame.machine.others
    if name != "torch.jit.load" or others is None or _EXPORTS.search(frame.machine.reading.source.text):
        return False
    project = others.project
    notebooks = (each.text for path in project.notebooks() if (each := project.text_of(path)) is not None)
    if any(map(_EXPORTS.search, notebooks)):
        return False
    found = [project.saying((each,)) for each in _EXPORTING]
    exporting = {path for paths in found for path in paths or ()}
    return None not in found and all(_exports_on_cpu(project, each) for each in exporting)


def _exports_on_cpu(project: Project, path: str) -> bool:
    """Whether a program has nothing to do with accelerators, nor what it imports, and loads to the CPU alone."""
    file = project.module(path)
    if file is None or project.importers(path):
        return False
    calls = ((each, last_name(each.func)) for each in nodes_in(file.tree, ast.Call))
    loads = [each for each, name in calls if name.startswith("load") and name != "load_state_dict"]
    closure = project.import_closure([path], _MOST_IMPORTED)
    if closure is None or mentions_accelerators(_LOADED_TO_CPU.sub("", without_comments(file.source.text))):
        return False
    texts = [project.text_of(each) for each in closure if each != path]
    return all(map(_reads_to_cpu, loads)) and not any(
        each is None or names_accelerators(without_comments(each.text)) for each in texts
    )


def _reads_to_cpu(load: ast.Call) -> bool:
    places = [*load.args[1:2], *(each.value for each in load.keywords if each.arg == "map_location")]
    return any(map(is_cpu_spec, places))


def is_never_given(frame: Frame, load: ast.Call) -> bool:
    """Whether the path is a parameter that no call in the application gives, so that nothing is read."""
    given = _given(frame, load)
    return given is not None and given == {""}


def _given(frame: Frame, load: ast.Call) -> set[str] | None:
    """The names of files that callers give for the path, "" for none; None where one is not known."""
    function, others = frame.function, frame.machine.others
    path = load.args[0] if load.args else None
    if others is None or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    if not isinstance(path, ast.Name) or path.id not in parameter_names(function):
        return None
    names = list(_names_given(frame.machine.tree, function, path.id, others.project, _MOST_CALLS))
    return {each for each in names if each is not None} if names and None not in names else None


def _names_given(
    tree: ast.Module, function: FunctionNode, parameter: str, project: Project, calls: int
) -> Iterator[str | None]:
    for site in call_sites(tree, function, project):
        given = site.argument(function, parameter)
        scopes = scopes_of(site.tree, site.call)
        around = next((each for each in scopes if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
        if isinstance(given, ast.Constant) and not given.value:
            yield ""
        elif given is None:
            yield None
        elif (name := file_name(scopes, given)) is not None:
            yield name
        elif calls and isinstance(given, ast.Name) and around is not None and given.id in parameter_names(around):
            handed = list(_names_given(site.tree, around, given.id, project, calls - 1))
            yield from handed or [None]
        else:
            yield None


def _is_published(frame: Frame, name: str) -> bool:
    if HOLE in name or name.endswith(_OF_TRAINING) or is_written(frame, name):
        return False
    return any(each.search(name) for each in (_HASH, _OF_PUBLICATIONS)) or _plain(name) in _addressed(frame, name)


def _is_fetched_and_checked(frame: Frame, load: ast.Call) -> bool:
    """Whether the path is what a function of the project gives that downloads it, and asks for its hash."""
    machine = frame.machine
    path = load.args[0] if load.args else None
    if isinstance(path, ast.Name):
        bound = values_by_path(frame.function or machine.tree).get(path.id, [])
        path = bound[0] if len(bound) == 1 else None
    if not isinstance(path, ast.Call) or machine.others is None:
        return False
    name, tree = dotted_path(path.func) or "", machine.tree
    found = defined(machine.others.project, machine.others.home, tree, name)
    if found is not None:
        tree, name = found[0].tree, found[1]
    functions = (each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == name)
    calls = [last_name(call.func).lower() for each in functions for call in nodes_in(each, ast.Call)]
    return any(map(_FETCHES.search, calls)) and any(map(_CHECKS.search, calls))


def _plain(name: str) -> str:
    return _HASH.sub("", name).lower()


def _addressed(frame: Frame, name: str) -> frozenset[str]:
    """The last parts of the addresses in the files of the project that say a name, without their hashes."""
    machine = frame.machine
    texts = [machine.reading.source.text]
    stem = _HASH.sub("", name).rpartition(".")[0]
    project = machine.others.project if machine.others is not None else None
    for path in (project.saying(("://", stem)) or ()) if project is not None else ():
        text = project.text_of(path)  # type: ignore[union-attr]
        texts += [] if text is None else [text.text]
    return frozenset(_plain(each[1]) for text in texts for each in _ADDRESS.finditer(text))
