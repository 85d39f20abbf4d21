"""What tensors are made of: one of several types, ``from_numpy(x) if isinstance(x, np.ndarray) else x``; a list."""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.kinds.annotated import is_annotated_sequence
from torchdevlint.flow.kinds.bound_once import bound_once
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import (
    dotted_path,
    given_by_default,
    last_name,
    mentions_device,
    parameter_names,
    public_path,
)
from torchdevlint.flow.scope.taken_by_torch import is_index_of_method, takes_tensor, takes_weight
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Choice, Conditions, Const, Unknown
from torchdevlint.patterns import regex
from torchdevlint.source.imported import imported_name
from torchdevlint.source.nodes import arguments_of, inside, is_inside, nodes_in, once_a_node

_MOST_NAMES = 4
"""So many steps are gone back to what a constant is called."""
_GIVES_LISTS = frozenset({"tolist", "convert_tokens_to_ids", "readlines"})
"""Methods that only what gives lists has."""
_ENCODED = frozenset("input_ids attention_mask token_type_ids".split())
_TOKENIZES = regex(r"tokeniz|^tok$", re.IGNORECASE)
"""Names of tokenizers; a second witness only, beside what is read of what they give."""


def asks_type(node: ast.AST, conditions: Conditions) -> bool:
    """Whether a call is made of a name whose type is asked for on the way to it.

    The caller chooses the type, and so knows where the other arguments are that it goes with. A list says nothing of
    that: numbers are written so beside tensors of any device.
    """
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(given, ast.Name) or not conditions:
        return False
    asked = re.compile(rf"(?:isinstance|type|hasattr|\bis_\w+)\({given.id}\b")
    listed = re.compile(rf"isinstance\({given.id}, \(?(?:list|tuple)(?:, (?:list|tuple))?\)")
    if any(outcome and listed.search(key) for key, outcome in conditions):
        return False
    return any(asked.search(key) for key, _ in conditions)


def is_listed(frame: Frame, node: ast.expr) -> bool:
    """Whether it is surely a list or another sequence, by its annotation, its use, or all that it is bound to."""
    scope = frame.function or frame.machine.tree
    if not isinstance(node, ast.Name):
        return _is_written_list(node) or _is_entry_of_lists(scope, node)
    if node.id not in uses_in(scope):
        return False
    if is_annotated_sequence(scope, node.id) or uses_in(scope)[node.id].is_container:
        return True
    bound = values_by_path(scope).get(node.id, [])
    if frame.function is not None and node.id in parameter_names(frame.function):
        default = dict(given_by_default(frame.function.args)).get(node.id)
        listed = isinstance(default, (ast.List, ast.Tuple)) and bool(default.elts)
        return listed and all(is_inside(node, each) or each.lineno > node.lineno for each in bound)
    return bool(bound) and all(_is_written_list(each) for each in bound)


def is_of_constant(frame: Frame, node: ast.expr) -> bool:
    """Whether it is a part of a constant that another file defines: ``ROOTS[i]``, ``tables.SCALES[name]``.

    Where that is made, nothing is known of the device that a program chooses. A name that is bound once to such a part
    is one.
    """
    parted, hops = node, _MOST_NAMES
    while isinstance(parted, ast.Subscript) or (isinstance(parted, ast.Name) and not imported_name(parted)):
        bound = parted.value if isinstance(parted, ast.Subscript) else bound_once(frame, parted)
        if bound is None or not hops:
            return False
        parted, hops = bound, hops - 1
    path = public_path(parted) if parted is not node and isinstance(parted, (ast.Name, ast.Attribute)) else ""
    named = parted.value if isinstance(parted, ast.Attribute) else parted
    is_imported = isinstance(named, ast.Name) and bool(imported_name(named))
    return is_imported and path.rpartition(".")[2].isupper() and not path.startswith("torch.")


def is_made_where_taken(frame: Frame, node: ast.Call) -> bool:
    """Whether a tensor is made where one is taken: ``torch.index_select(x, 0, torch.tensor(rows))``.

    So it is with the weight of a loss: ``nn.CrossEntropyLoss(torch.tensor(weights))``.
    What is a tensor is given as it is: PyTorch warns of whoever copies one so.
    """
    scope = frame.function or frame.machine.tree
    return node in _made_where_taken(scope) and not any(map(_is_told_place, _origins(scope, node.args[0])))


def _origins(scope: ast.AST, node: ast.expr) -> list[ast.expr]:
    """An expression, or all that a name or attribute is bound to in a function."""
    path = dotted_path(node)
    return [node] if path is None else values_by_path(scope).get(path, [])


def _is_told_place(node: ast.expr) -> bool:
    """Whether a call in it is told a device, and so may give a tensor that is there: ``weights_of(labels, device)``."""
    calls = [each for each in inside(node) if isinstance(each, ast.Call)]
    return any(mentions_device(last_name(each)) for call in calls for each in arguments_of(call))


@once_a_node
def _made_where_taken(scope: ast.AST) -> frozenset[ast.AST]:
    """The calls that are arguments, or parts of lists, of what takes nothing but tensors there."""
    found: set[ast.AST] = set()
    for call in nodes_in(scope, ast.Call):
        name = public_path(call.func)
        given: list[tuple[int | str, ast.expr]] = [*enumerate(call.args)]
        given += [(each.arg, each.value) for each in call.keywords if each.arg is not None]
        for place, each in given:
            if isinstance(each, ast.Call):
                taken = is_index_of_method(call, place) or takes_tensor(name, place) or takes_weight(name, place)
                found.update([each] if taken else ())
            elif place == 0 and isinstance(each, (ast.List, ast.Tuple)) and name in _JOINING:
                found.update(each.elts)
    return frozenset(found)


_JOINING = frozenset(f"torch.{name}" for name in "cat concat concatenate hstack vstack".split())


def _is_written_list(node: ast.expr) -> bool:
    """Whether it gives a list by what it is: ``[1, 2]``, ``x.tolist()``, ``ids + [end]``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_written_list(node.left) or _is_written_list(node.right)
    if isinstance(node, ast.Call):
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return method in _GIVES_LISTS or (method == "encode" and _tokenizes(node))
    return isinstance(node, (ast.List, ast.ListComp))


def _is_entry_of_lists(scope: ast.AST, node: ast.expr) -> bool:
    """``tokenizer(texts)["input_ids"]``, there or under a name: these are lists without ``return_tensors``."""
    if (
        not isinstance(node, ast.Subscript)
        or not isinstance(node.slice, ast.Constant)
        or node.slice.value not in _ENCODED
    ):
        return False
    made = (
        [node.value]
        if isinstance(node.value, ast.Call)
        else values_by_path(scope).get(dotted_path(node.value) or "", [])
    )
    return bool(made) and all(isinstance(each, ast.Call) and _tokenizes(each) for each in made)


def _tokenizes(call: ast.Call) -> bool:
    """Whether it asks a tokenizer, which says nothing of tensors and hands on nothing that might."""
    says = any(each.arg in (None, "return_tensors") for each in call.keywords)
    words = (dotted_path(call.func) or "").split(".")
    return not says and any(map(_TOKENIZES.search, words))


def is_list_by_text(node: ast.expr) -> bool:
    """Whether an expression gives a list, and so the values of a tensor, not its size."""
    if isinstance(node, ast.BinOp):
        return is_list_by_text(node.left) or is_list_by_text(node.right)
    return isinstance(node, (ast.List, ast.ListComp))


def is_flag(data: Choice) -> bool:
    """Whether it is True or False in one case, and nothing that is known in the others: ``stop = False``."""
    held = [each for _, each in data.alternatives]
    said = [isinstance(each, Const) and isinstance(each.value, bool) for each in held]
    return any(said) and all(known or isinstance(each, Unknown) for known, each in zip(said, held, strict=True))
