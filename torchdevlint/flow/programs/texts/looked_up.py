"""Names that code looks up by a text that is made when it runs: in its own file, or in a module that it imports.

``globals()[name]`` may mean whatever the file binds, ``getattr(models, name)`` what ``models`` does, and
``eval(f"nn.{name}")`` nothing but what is in ``nn``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

from msgspec import Struct

from torchdevlint.flow.programs.texts.made_texts import known_beginning, known_ending, values_of
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names
from torchdevlint.patterns import LinePattern, regex
from torchdevlint.project.modules import ModuleFile, ModuleText
from torchdevlint.project.tree import from_root
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import keyword_of, nodes_in, once_a_node, own_nodes_in

_DYNAMIC = LinePattern(
    r"(?<![.\w])(?<!def )(?:globals|locals|vars|eval|exec|getattr|__import__)\(|import_module|\bfire\b|getmembers"
    r"|\bsys\.modules\b|\b__dict__\b",
    "globals( locals( vars( eval( exec( getattr( __import__( import_module fire getmembers sys.modules __dict__",
)
_ANY = "*"
_PACKAGE = "__init__"
_OWN = ""
_LOADING = ("import_module", "__import__")
_RUNNING = ("run_module", "run_path", "spec_from_file_location")
LOADED_BY_NAME = (*_LOADING, *_RUNNING)
"""How a program comes to a file that no import statement names."""
_MOST_HOPS = 4
"""How many modules hand all their names on."""
_MOST_LOADED = 40
"""Where more modules may be loaded by a text, it is not asked what they do."""
_MOST_SAYING = 40
LISTING = LinePattern(
    r"\b(?:listdir|scandir|iterdir|r?glob|walk|iter_modules|walk_packages)\(",
    "listdir( scandir( iterdir( glob( walk( iter_modules( walk_packages(",
)
"""What finds files whose names nobody writes down."""
_FROM_OUTSIDE = LinePattern(
    r"\bargv\b|\bparse_(?:known_)?args\b|\benviron\b|\bgetenv\b|\binput\(",
    "argv parse_args parse_known_args environ getenv input(",
)
_PATH_END = regex(r"[./\\:]")
_READS_CODE = frozenset({"eval", "exec"})
_FIRST = regex(r"\s*(?:(self\.)|([^\W\d]\w*)(\.[^\W\d]?\w*)?|$)")
"""What a text begins with: an attribute of the object, a name, what is asked of it."""


class LookedUp(Struct, frozen=True):
    """Names that begin so in a `module` that the file imports by this path; "" is the file itself.

    "*" is any module whose own path of names begins, and ends, so.
    """

    module: str = _OWN
    beginning: str = ""
    ending: str = ""
    is_path: bool = False
    """The text is a whole path of names, of which nothing is known."""


Meant = Mapping[str, frozenset[str]] | frozenset[str]
"""Names that are meant in the files of these paths, or in all files that bind them."""


def looking_names_up(texts: Iterable[ModuleText]) -> list[ModuleText]:
    """Those of some files that may look a name up at all: only they need be parsed."""
    return [each for each in texts if each.says(_DYNAMIC)]


def finds(file: ModuleFile, meant: Meant, project: Project, *, is_said: bool = True) -> bool:
    """Whether a file may look up one of the names that are `meant`.

    Where nothing in the project says them, no path does that a module is loaded by.
    """
    asked = (each for each in _looked_up(file.tree) if is_said or not each.is_path)
    return any(_may_mean(file, each, meant, project) for each in asked)


def _may_mean(file: ModuleFile, asked: LookedUp, meant: Meant, project: Project) -> bool:
    if asked.module == _ANY:
        homes = (project.path,) if isinstance(meant, frozenset) else meant
        return any(_may_load(file, asked, each) for each in homes)
    modules = [file] if asked.module == _OWN else list(_modules(file, asked.module, project))
    return any(_binds(each, asked.beginning, meant, project) for each in modules)


def looked_up_in(file: ModuleFile, project: Project) -> list[tuple[ModuleFile, str]] | None:
    """The files whose names a file looks up, with what these begin with; None where it may load any file by a text."""
    found: list[tuple[ModuleFile, str]] = []
    for each in _looked_up(file.tree):
        if each.module == _ANY:
            loaded = _loaded(file, each, project)
            if loaded is None:
                return None
            found += [(module, "") for module in loaded]
            continue
        modules = [file] if each.module == _OWN else _modules(file, each.module, project)
        found += [(module, each.beginning) for module in modules]
    return None if _runs_files(file.tree) else found


def _loaded(file: ModuleFile, asked: LookedUp, project: Project) -> list[ModuleFile] | None:
    """The modules that a file may load by a text; None for any, or too many."""
    others = project.saying(()) if asked.beginning or asked.ending else None
    homes = [] if others is None else [each for each in others if _may_load(file, asked, each)]
    found = [project.library.get(each) for each in homes[:_MOST_LOADED]]
    for path, module in zip(homes, found, strict=False):
        project.used(path, "", module)
    known = [each for each in found if each is not None]
    return known if others is not None and len(known) == len(homes) else None


def may_load(file: ModuleFile, home: str, project: Project) -> bool:
    """Whether a file may import the module at `home` by a text that is made when it runs.

    Where nothing is known of the text, but that it comes from the code, it has to be written somewhere.
    """
    loading = [each for each in _looked_up(file.tree) if each.module == _ANY]
    if any((each.beginning or each.ending) and _may_load(file, each, home) for each in loading):
        return True
    is_open = _runs_files(file.tree) or any(not (each.beginning or each.ending) for each in loading)
    return is_open and (_may_be_told(file) or _is_said(home, project))


def _may_be_told(file: ModuleFile) -> bool:
    """Whether the text by which a file loads others may come from outside: of its program, of a function, or a list."""
    if LISTING.is_in(file.source.text) or _FROM_OUTSIDE.is_in(file.source.text):
        return True
    given = {name for each in nodes_in(file.tree, ast.FunctionDef) for name in parameter_names(each)}
    loading = (each for each in nodes_in(file.tree, ast.Call) if last_name(each.func) in LOADED_BY_NAME)
    read = (name.id for call in loading for name in nodes_in(call, ast.Name))
    return not given.isdisjoint(read)


def _is_said(home: str, project: Project) -> bool:
    """Whether a text in the project, be it beside the code, is the name of a file."""
    name = _module_name(home)
    saying = project.saying((name,))
    if saying is None or len(saying) > _MOST_SAYING or project.saying((name,), beside_code=True) != ():
        return True
    files = [project.library.get(each) for each in saying]
    for each, module in zip(saying, files, strict=True):
        project.used(each, "", module)
    return any(each is None or _is_text_in(each.tree, name) for each in files)


def _module_name(home: str) -> str:
    """The last part of the name of the module at a path."""
    path = PurePath(home)
    return path.parent.name if path.stem == _PACKAGE else path.stem


def _is_text_in(tree: ast.Module, name: str) -> bool:
    """Whether a text of a file is a path that ends with a name, of a module or a file."""
    texts = (each.value for each in nodes_in(tree, ast.Constant) if isinstance(each.value, str))
    return any(_PATH_END.split(each.removesuffix(".py"))[-1] == name for each in texts)


def _may_load(file: ModuleFile, asked: LookedUp, home: str) -> bool:
    path = PurePath(home)
    if path.stem != _PACKAGE and not f".{path.stem}".endswith(asked.ending.rpartition(".")[2]):
        return False
    if asked.beginning.startswith("."):
        return PurePath(file.path).parent in path.parents
    module = ".".join(PurePath(from_root(home)).with_suffix("").parts)
    return f".{asked.beginning}" in f".{module}."


@once_a_node
def _runs_files(tree: ast.Module) -> bool:
    """Whether a file runs others by their paths, or loads them in a way that cannot be followed."""
    called = {id(each.func) for each in nodes_in(tree, ast.Call)}
    read = [each for each in (*nodes_in(tree, ast.Name), *nodes_in(tree, ast.Attribute)) if id(each) not in called]
    if any(last_name(each) in _LOADING for each in read):
        return True
    imported = [each for node in nodes_in(tree, ast.ImportFrom) for each in node.names]
    if any(each.name in _LOADING and each.asname not in (None, each.name) for each in imported):
        return True
    return any(last_name(each.func) in _RUNNING and not _file_run_by(each) for each in nodes_in(tree, ast.Call))


def _file_run_by(call: ast.Call) -> str:
    """The end of the path of the file that a call runs, as far as it is written down: ``join(here, "model.py")``."""
    places = {"spec_from_file_location": (1, "location"), "run_path": (0, "path_name")}
    place, name = places.get(last_name(call.func), (None, ""))
    given = None if place is None else (keyword_of(call, name) or next(iter(call.args[place:]), None))
    while isinstance(given, ast.Call) and given.args:
        given = given.args[-1]
    end = PurePath("" if given is None else known_ending(given))
    return end.stem if end.suffix == ".py" else ""


def _binds(module: ModuleFile, beginning: str, meant: Meant, project: Project, hops: int = _MOST_HOPS) -> bool:
    """Whether a module binds a name that is meant and begins so, be it with all that another one binds."""
    names = meant if isinstance(meant, frozenset) else meant.get(module.path, frozenset())
    if any(each.startswith(beginning) and each in module.bindings for each in names):
        return True
    found = (project.locate(module.path, *each) for each in module.stars) if hops else ()
    read = (project.library.get(each) for each in found if each is not None and each.endswith(".py"))
    return any(each is not None and _binds(each, beginning, meant, project, hops - 1) for each in read)


def _modules(file: ModuleFile, name: str, project: Project) -> Iterator[ModuleFile]:
    """The modules of the project that a path of names in a file may mean."""
    for module, level, taken, bound in _imported(file.tree):
        if bound != name and not name.startswith(f"{bound}."):
            continue
        found = project.locate(file.path, module, level)
        path = project.submodule(found, taken) if found is not None and taken else found
        held = None if path is None or not path.endswith(".py") else project.library.get(path)
        if held is not None:
            project.used(held.path, "", held)
            yield held


@once_a_node
def _imported(tree: ast.Module) -> tuple[tuple[str, int, str, str], ...]:
    """A module, the dots before it, the name that is taken from it, and what it is called."""
    found = [(each.name, 0, "", each.asname or each.name) for node in nodes_in(tree, ast.Import) for each in node.names]
    for node in nodes_in(tree, ast.ImportFrom):
        taken = [("" if each.name == "__dict__" else each.name, each.asname or each.name) for each in node.names]
        found += [(node.module or "", node.level, *each) for each in taken]
    return tuple(found)


@once_a_node
def _looked_up(tree: ast.Module) -> tuple[LookedUp, ...]:
    """What the code of a file looks up."""
    named = {each.name for each in nodes_in(tree, ast.FunctionDef)}
    named.update(bound for *_, bound in _imported(tree))
    settled = _asked_for_by_name(tree)
    top_level = {id(each) for each in own_nodes_in(tree, ast.Call)}
    found: list[LookedUp] = [LookedUp()] if "fire" in named else []
    for node in nodes_in(tree, ast.ImportFrom):
        found += [LookedUp(each.asname or each.name) for each in node.names if each.name == "__dict__"]
    for call in nodes_in(tree, ast.Call):
        if id(call) not in settled:
            found += _by_call(tree, call, named, id(call) in top_level)
    found += [each for node in nodes_in(tree, ast.Attribute) for each in _by_attribute(node) if id(node) not in settled]
    found += [each for node in nodes_in(tree, ast.Subscript) for each in _by_subscript(node)]
    return tuple(found)


def _asked_for_by_name(tree: ast.Module) -> frozenset[int]:
    """The tables of names that are asked for one that is written down, by identity: ``"x" in globals()``."""
    tables: list[ast.expr] = []
    for asked in nodes_in(tree, ast.Compare):
        if isinstance(asked.left, ast.Constant):
            tables += (_table(each) for each in asked.comparators)
    tables += [each.value for each in nodes_in(tree, ast.Subscript) if _is_settled(each)]
    return frozenset(map(id, tables))


def _table(node: ast.expr) -> ast.expr:
    """The table whose keys are asked for: ``globals()`` of ``globals().keys()``."""
    is_keys = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys"
    return node.func.value if is_keys else node  # type: ignore[attr-defined]


def _is_settled(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Constant) or dotted_path(node.slice) == "__name__"


def _by_call(tree: ast.Module, call: ast.Call, named: set[str], is_top_level: bool) -> Iterator[LookedUp]:
    path = dotted_path(call.func) or ""
    first = call.args[0] if call.args else None
    last = path.rpartition(".")[2]
    if last in _RUNNING and (file := _file_run_by(call)):
        yield LookedUp(_ANY, "", file)
    elif last in _LOADING:
        for each in [None] if first is None else values_of(tree, call, first):
            first_part, last_part = ("", "") if each is None else (known_beginning(each) or "", known_ending(each))
            yield LookedUp(_ANY, first_part, last_part, is_path=not first_part and not last_part)
    elif last == "getmembers" and first is not None:
        yield LookedUp(dotted_path(first) or _ANY)
    elif path in named:
        return
    elif path == "globals" or (path in ("locals", "vars") and first is None and is_top_level):
        yield LookedUp()
    elif path == "vars" and first is not None:
        yield from (LookedUp(each) for each in (dotted_path(first),) if each)
    elif path == "getattr" and first is not None and len(call.args) > 1:
        yield from (LookedUp(each, known_beginning(call.args[1]) or "") for each in (dotted_path(first),) if each)
    elif path in _READS_CODE and first is not None:
        yield from _in_code(known_beginning(first))


def _by_attribute(node: ast.Attribute) -> Iterator[LookedUp]:
    path = dotted_path(node) or ""
    if path == "sys.modules":
        yield LookedUp(_ANY)
    elif node.attr == "__dict__" and path:
        yield LookedUp(path.rpartition(".")[0])


def _by_subscript(node: ast.Subscript) -> Iterator[LookedUp]:
    """What is asked of a table under a name that is written down; ``sys.modules[__name__]`` is the file."""
    path = dotted_path(node.value) or ""
    if path == "sys.modules":
        yield LookedUp(_OWN if dotted_path(node.slice) == "__name__" else _ANY)
    elif isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        if path.endswith(".__dict__"):
            yield LookedUp(path.rpartition(".")[0], node.slice.value)
        elif isinstance(node.value, ast.Call) and dotted_path(node.value.func) == "globals":
            yield LookedUp(_OWN, node.slice.value)


def _in_code(text: str | None) -> Iterator[LookedUp]:
    """The names that code may read which begins so."""
    first = None if text is None else _FIRST.match(text)
    if first is None or first[2] is None:
        yield from () if first is not None and first[1] else (LookedUp(),)
    elif first[3] is not None:
        yield LookedUp(first[2], first[3][1:])
        yield LookedUp(_OWN, first[2])
    else:
        yield LookedUp(_OWN, first[2])
