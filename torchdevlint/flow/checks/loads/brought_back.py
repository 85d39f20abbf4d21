"""Whether what a project saves beside the file that a load reads was brought to the CPU first: ``net.cpu()``.

The name of the file need not be known. What one function reads and writes in one folder are files of one kind, and so
are those of a folder whose name is written down (``runs / "models" / name``), wherever the project writes them. So is
all that a project saves, if it brings all of it back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import partial

from torchdevlint.flow.checks.loads.file_names import Scopes, scopes_of
from torchdevlint.flow.checks.loads.kept_modules import is_bare_module, is_sent_to_cpu
from torchdevlint.flow.checks.loads.saved_names import bound_before, values_in
from torchdevlint.flow.checks.loads.telling_names import HOLE, is_telling, may_be_equal
from torchdevlint.flow.scope.brought_back import says_cpu
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names, public_path
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import inside, nodes_in, own_nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_JOINS = frozenset("os.path.join pathlib.Path pathlib.PurePath".split())
_FILLS = frozenset("append extend insert add update".split())
_COPIES = frozenset("deepcopy copy dict list tuple OrderedDict".split())
_GIVES_NO_MORE = frozenset(
    "torch.load bool float int len range round str time.time vars random.getstate numpy.random.get_state "
    "torch.get_rng_state torch.random.get_rng_state".split()
)
_GIVES_NUMBERS = frozenset({"item", "tolist"})
_STAYING = frozenset("detach clone contiguous float half double numpy squeeze state_dict".split())
"""What gives something where its object is, or on the CPU."""
_OF_FIRST = frozenset(f"torch.{each}" for each in "abs argmax clamp clip exp log round sigmoid softmax squeeze".split())
"""What gives something where its first argument is."""
_PLACES_OF_PATHS = {"torch.save": 1, "torch.load": 0}
_UNKNOWN = regex(r"<[^>]*>")
_PUNCTUATION = regex(r"[/<>]")
_SAVING = "lightning transformers ignite catalyst fastai accelerate deepspeed composer".split()
"""Libraries that save files by themselves, under names that they make up."""
_OF_TEXT = r"(?:\w*(?:Tokenizer|TokenizerFast|Config|FeatureExtractor)|get_\w+_schedule\w*|seed_everything|set_seed)"
"""Names of these libraries that save no tensors."""
_NAMES_OF_TEXT = rf"{_OF_TEXT}(?:[ \t]+as[ \t]+\w+)?(?:\s*,\s*{_OF_TEXT}(?:[ \t]+as[ \t]+\w+)?)*"
_ONLY_OF_TEXT = rf"from\s+[\w.]+\s+import[ \t]*(?:\(\s*{_NAMES_OF_TEXT}\s*,?\s*\)|[ \t]{_NAMES_OF_TEXT})[ \t]*(?:#.*)?$"
SAVES_BY_ITSELF = regex(
    rf"^\s*(?!{_ONLY_OF_TEXT})(?:from|import)\s+(?:(?:pytorch_)?(?:{'|'.join(_SAVING)})|mm\w+)\b",
    re.MULTILINE,
)
"""An import of such a library, except of what saves no tensors alone."""
_SAVES = regex(r"\btorch\.save\(")
_MOST_FILES = 40
_MOST_HOPS = 3
_FEWEST_LETTERS = 3


def is_brought_back(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    """Whether what is saved where a call loads from, or at all, holds states of Modules, and these are of the CPU.

    What TorchScript reads, another function has saved.
    """
    return public_path(load.func) != "torch.jit.load" and (
        _is_brought_back_beside(own, project, load)
        or _is_brought_back_by_twin(own, project, load)
        or _is_brought_back_by_name(own, project, load)
        or _is_all_of_cpu(own, project, load)
    )


def _is_brought_back_beside(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    around = scopes_of(own.tree, load)[0]
    path = _folder_and_name(around, load.args[0]) if load.args else None
    if path is None:
        return False
    folder, name = path
    here = [each for each in _saves(own_nodes_in(around, ast.Call)) if _is_like(_written_to(own.tree, each), path)]
    if here:
        return all(map(partial(saves_of_cpu, own.tree), here))
    word = folder.rpartition("/")[2]
    return len(word) >= _FEWEST_LETTERS and "<" not in word and _are_all_of_cpu(own, project, word, name)


def _is_brought_back_by_twin(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    """Whether a function reads a path that it is given, and what saves to one of that name, beside it, brings all back.

    That is all that its file saves, and who imports the file saves nothing otherwise.
    """
    name = _given_path(own.tree, load, load.args[0]) if load.args else None
    saves = list(_saves(nodes_in(own.tree, ast.Call))) if name else []
    if not all(_given_path(own.tree, each, each.args[1]) == name and saves_of_cpu(own.tree, each) for each in saves):
        return False
    texts = [project.text_of(path) for path in project.importers(own.path)] if saves else []
    return bool(texts) and all(
        each is not None and not _SAVES.search(each.text) and not SAVES_BY_ITSELF.search(each.text) for each in texts
    )


def _is_brought_back_by_name(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    """Whether a name that is written down tells the file, and all that saves under that name brings all of it back.

    The code names it where it is saved and loaded alone, and what saves under a telling name that may be this one
    brings back as well. What saves to a path that is not known saves other files.
    """
    name = _name(own.tree, load, load.args[0]) if load.args else HOLE
    if HOLE in name or not is_telling(name):
        return False
    naming, beside = project.saying((name,)), project.saying((name,), beside_code=True)
    paths = project.saying(("torch", "save"))
    if naming is None or beside is None or paths is None or len(paths) > _MOST_FILES:
        return False
    if any(each.endswith(NOTEBOOK) for each in beside):
        return False
    is_saved = False
    for file in (own, *_modules(project, tuple(dict.fromkeys((*naming, *paths))))):
        known = {id(each) for call in nodes_in(file.tree, ast.Call) for each in _parts_of_path(call)}
        texts = (each for each in nodes_in(file.tree, ast.Constant) if isinstance(each.value, str))
        if any(name in str(each.value) and id(each) not in known for each in texts):
            return False
        for save in _saves(nodes_in(file.tree, ast.Call)):
            written = _name(file.tree, save, save.args[1])
            if not is_telling(written) or not may_be_equal(written, name):
                continue
            if not saves_of_cpu(file.tree, save):
                return False
            is_saved = is_saved or written == name
    return is_saved


def _parts_of_path(call: ast.Call) -> Iterator[ast.AST]:
    """The parts of the path that a call of torch writes or reads."""
    place = _PLACES_OF_PATHS.get(public_path(call.func) or "")
    yield from () if place is None else (part for each in call.args[place : place + 1] for part in inside(each))


def _given_path(tree: ast.Module, call: ast.Call, path: ast.expr) -> str | None:
    """The parameter that a path is, as it came."""
    function = scopes_of(tree, call)[0]
    if not isinstance(path, ast.Name) or not isinstance(function, ast.FunctionDef):
        return None
    return path.id if path.id in parameter_names(function) and path.id not in values_in(function) else None


def _is_all_of_cpu(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    """Whether all that code of a project saves are states of the CPU, some of it under a name that may be the file's.

    No library saves more.
    A text that does not speak of the CPU brings nothing back, and need not be parsed.
    """
    paths, beside = project.saying(("torch", "save")), project.saying(("torch", "save"), beside_code=True)
    if paths is None or beside is None or len(paths) > _MOST_FILES or any(each.endswith(NOTEBOOK) for each in beside):
        return False
    texts = [own.source.text, *(each.text for path in paths if (each := project.text_of(path)) is not None)]
    if any("cpu" not in each and _SAVES.search(each) for each in texts):
        return False
    if SAVES_BY_ITSELF.search(own.source.text) or _others_may_save(project):
        return False
    files = (own, *_modules(project, paths))
    saved = [(each.tree, save) for each in files for save in _saves(nodes_in(each.tree, ast.Call))]
    names = [_name(each, save, save.args[1]) for each, save in saved]
    is_there = bool(load.args) and any(may_be_equal(each, _name(own.tree, load, load.args[0])) for each in names)
    return is_there and all(saves_of_cpu(*each) for each in saved)


def _others_may_save(project: Project) -> bool:
    """Whether a file of the project imports a library that saves by itself; one that only says its word does not."""
    saying = [project.saying((each, "import")) for each in _SAVING]
    texts = (project.text_of(path) for paths in saying for path in paths or ())
    return None in saying or any(each is not None and SAVES_BY_ITSELF.search(each.text) for each in texts)


def _name(tree: ast.Module, call: ast.Call, path: ast.expr) -> str:
    """The name of a file that a call reads or writes, with holes for what is not written down."""
    return _UNKNOWN.sub(HOLE, _text(scopes_of(tree, call)[0], path).rpartition("/")[2])


def _are_all_of_cpu(own: ModuleFile, project: Project, folder: str, name: str) -> bool:
    """Whether all that the project saves in folders of one name is, and some of it under a name that may be this."""
    others = project.saying(("save", folder))
    if others is None or len(others) > _MOST_FILES:
        return False
    is_there = False
    for module in (own, *_modules(project, others)):
        for save in _saves(nodes_in(module.tree, ast.Call)):
            path = _written_to(module.tree, save)
            if path is None or path[0].rpartition("/")[2] != folder:
                continue
            if not saves_of_cpu(module.tree, save):
                return False
            is_there = is_there or may_be_equal(path[1], name)
    return is_there


def _modules(project: Project, paths: tuple[str, ...]) -> Iterator[ModuleFile]:
    for path in paths:
        module = project.module(path)
        if module is not None:
            yield module


def _saves(calls: Iterable[ast.Call]) -> Iterator[ast.Call]:
    return (each for each in calls if public_path(each.func) == "torch.save" and len(each.args) > 1)


def _is_like(path: tuple[str, str] | None, other: tuple[str, str]) -> bool:
    """Whether two files are in one folder, and their names may be the same."""
    return path is not None and path[0] == other[0] and may_be_equal(path[1], other[1])


def _written_to(tree: ast.Module, save: ast.Call) -> tuple[str, str] | None:
    return _folder_and_name(scopes_of(tree, save)[0], save.args[1])


def _folder_and_name(scope: ast.AST, path: ast.expr) -> tuple[str, str] | None:
    """The folder of a path, as it is written, and the name of the file with holes; None where no folder is."""
    folder, _, name = _text(scope, path).rpartition("/")
    return (folder, _UNKNOWN.sub(HOLE, name)) if folder else None


def _text(scope: ast.AST, node: ast.expr, hops: int = _MOST_HOPS) -> str:
    """A path as a text, with what is not written down between ``<`` and ``>``."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(scope, each, hops) for each in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(scope, node.value, hops)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        between = "/" if isinstance(node.op, ast.Div) else ""
        return f"{_text(scope, node.left, hops)}{between}{_text(scope, node.right, hops)}"
    if isinstance(node, ast.Call) and public_path(node.func) in _JOINS:
        return "/".join(_text(scope, each, hops) for each in node.args)
    if isinstance(node, ast.Name) and hops:
        bound = values_in(scope).get(node.id, [])
        value = bound[0].value if len(bound) == 1 and bound[0].place is None else None
        if isinstance(value, (ast.JoinedStr, ast.BinOp, ast.Constant)) or (
            isinstance(value, ast.Call) and public_path(value.func) in _JOINS
        ):
            return _text(scope, value, hops - 1)
    written = ast.unparse(node)
    return f"<{_PUNCTUATION.sub('|', written)}>"


def saves_of_cpu(tree: ast.Module, save: ast.Call) -> bool:
    """Whether a call saves a Module that was sent to the CPU before, or states of such, and nothing that is moved.

    Or it saves tensors, or whole Modules, that are brought there one by one, and nothing else.
    """
    if not save.args:
        return False
    scopes = scopes_of(tree, save)
    if is_bare_module(tree, save.args[0]) and is_sent_to_cpu(scopes[0], save.args[0]):
        return True
    held = list(_held(scopes, save.args[0], _MOST_HOPS))
    states = [each for each in held if isinstance(each, ast.Call) and last_name(each.func) == "state_dict"]
    calls = [each for each in held if isinstance(each, ast.Call) and each not in states]
    if not states and not _brings_back(scopes[0], save.args[0], held):
        return False
    return all(_is_state_of_cpu(scopes[0], each) for each in states) and all(map(_stays, calls))


def _brings_back(scope: ast.AST, saved: ast.expr, held: list[ast.expr]) -> bool:
    """Whether a part of what is saved is brought back, and nothing is beside the parts of a state, or all is known."""
    if not any(isinstance(each, ast.Call) and _is_brought(each) for each in held):
        return False
    return _is_of_state(scope, saved) or all(_is_known(scope, each) for each in held)


def _is_of_state(scope: ast.AST, saved: ast.expr) -> bool:
    """Whether a value, or what names in it are bound to, is made of the state of a Module."""
    names = (each for each in inside(saved) if isinstance(each, ast.Name))
    parts = [saved, *(value for each in names for value in _bound(scope, each))]
    return any(last_name(each.func) == "state_dict" for part in parts for each in nodes_in(part, ast.Call))


def _is_known(scope: ast.AST, held: ast.expr) -> bool:
    """Whether a part of what is saved is a call or a literal, or a name that is bound to other parts."""
    return isinstance(held, (ast.Call, ast.Constant)) or (isinstance(held, ast.Name) and bool(_bound(scope, held)))


def _is_brought(call: ast.Call) -> bool:
    """Whether a call gives what it brings to the CPU: ``x.cpu()``, ``x.cpu().clone()``, ``torch.abs(x.cpu())``."""
    if says_cpu(call):
        return True
    receiver = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in _STAYING else None
    if public_path(call.func) in _OF_FIRST:
        receiver = call.args[0] if call.args else None
    return isinstance(receiver, ast.Call) and _is_brought(receiver)


def _is_state_of_cpu(scope: ast.AST, state: ast.Call) -> bool:
    module = state.func.value if isinstance(state.func, ast.Attribute) else state.func
    return says_cpu(module) if isinstance(module, ast.Call) else is_sent_to_cpu(scope, module)


def _stays(call: ast.Call) -> bool:
    """Whether a call is known not to give what is on an accelerator: what is loaded again comes from the same place."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _GIVES_NUMBERS:
        return True
    return _is_brought(call) or public_path(call.func) in _GIVES_NO_MORE


def _held(scopes: Scopes, node: ast.expr, hops: int) -> Iterator[ast.expr]:
    """The parts of a value, and what the names among them are bound to, or filled with, in the function."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = node.values
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, (ast.Starred, ast.Subscript)):
        parts = [node.value]
    elif isinstance(node, ast.Call) and last_name(node.func) in _COPIES:
        parts = node.args
    elif isinstance(node, (ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        parts = _made_by(node)
    else:
        yield node
        parts = _bound(scopes[0], node) if isinstance(node, ast.Name) and hops else []
        hops -= 1
    for each in parts:
        yield from _held(scopes, each, hops)


def _made_by(node: ast.DictComp | ast.ListComp | ast.SetComp | ast.GeneratorExp) -> list[ast.expr]:
    """What a comprehension gives for each item, if it brings that to the CPU; else what it goes through."""
    made = node.value if isinstance(node, ast.DictComp) else node.elt
    if isinstance(made, (ast.Tuple, ast.List)) and made.elts:  # a key and a value
        made = made.elts[-1]
    return [made] if isinstance(made, ast.Call) and _is_brought(made) else [each.iter for each in node.generators]


def _bound(scope: ast.AST, name: ast.Name) -> list[ast.expr]:
    """What a name is bound to where it is read, or else anywhere in a scope, and what is put into that."""
    before = bound_before(scope, name)
    values = [each.value for each in values_in(scope).get(name.id, []) if each.value is not None and each.place is None]
    values = values if before is None else [before]
    for call in own_nodes_in(scope, ast.Call):
        if last_name(call.func) in _FILLS and isinstance(call.func, ast.Attribute):
            values = values + call.args if dotted_path(call.func.value) == name.id else values
    return values
