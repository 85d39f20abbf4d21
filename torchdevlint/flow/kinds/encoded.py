"""What tokenizers and processors give: tensors of the CPU, in a container whose ``to`` works in place (TDL005)."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.kinds.bound_once import bound_once
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.flow.state.devices import LOADER
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import AT_LEAST_1, NUMBERS, Step, Tensor, Value

FROM_TOKENIZER = "comes from the tokenizer here"
_OF_CLIP = frozenset({"clip.tokenize", "clip.clip.tokenize", "open_clip.tokenize", "open_clip.tokenizer.tokenize"})
"""Functions that give the tokens of texts as one tensor of the CPU, without being asked for tensors."""
_TOKENIZERS_OF_CLIP = frozenset({"open_clip.get_tokenizer", "open_clip.factory.get_tokenizer"})
_ENTRIES = frozenset(
    """
    input_ids attention_mask token_type_ids pixel_values pixel_mask input_values input_features labels
    decoder_input_ids decoder_attention_mask
    """.split()
)
"""What is read as an attribute too, and is a tensor."""


def encoding_of(frame: Frame, node: ast.Call) -> Tensor | None:
    """What ``tokenizer(texts, return_tensors="pt")`` gives, whatever the tokenizer is; None for other calls.

    A processor of images that is told a device brings them there: ``processor(images, device="cuda")``.
    """
    if _gives_tokens(frame, node.func):
        return None if moves_batches(frame) else Tensor(LOADER, 2, (), (Step(FROM_TOKENIZER, node),))
    if not node.keywords:
        return None
    asked = [each.value for each in node.keywords if each.arg == "return_tensors"]
    if not asked or any(each.arg == "device" for each in node.keywords):
        return None
    if not any(isinstance(each, ast.Constant) and each.value == "pt" for each in asked) or moves_batches(frame):
        return None
    return Tensor(LOADER, AT_LEAST_1, (), (Step(FROM_TOKENIZER, node),), opaque=True)


def _gives_tokens(frame: Frame, callee: ast.expr) -> bool:
    """Whether it is a tokenizer of CLIP: ``clip.tokenize``, or what ``open_clip.get_tokenizer(name)`` gave."""
    if last_name(callee) == "tokenize" and public_path(callee) in _OF_CLIP:
        return True
    made = bound_once(frame, callee) if "get_tokenizer" in frame.machine.words else None
    return isinstance(made, ast.Call) and public_path(made.func) in _TOKENIZERS_OF_CLIP


def token_ids_of(frame: Frame, node: ast.Call) -> Value | None:
    """The numbers that ``tokenizer.encode(text)`` gives, a list, where it is not asked for tensors; else None."""
    method = node.func
    if not isinstance(method, ast.Attribute) or method.attr not in ("encode", "convert_tokens_to_ids"):
        return None
    if any(each.arg in ("return_tensors", None) for each in node.keywords):
        return None
    if method.attr == "convert_tokens_to_ids":
        return NUMBERS
    return NUMBERS if _is_tokenizer(frame, method.value) else None


def _is_tokenizer(frame: Frame, node: ast.expr) -> bool:
    """Whether it is called one, or made by a class that is: ``tok = AutoTokenizer.from_pretrained(name)``."""
    made = bound_once(frame, node)
    maker = (dotted_path(made.func) or "") if isinstance(made, ast.Call) else ""
    return "tokenizer" in f"{last_name(node)} {maker}".lower()


def is_encoding(value: Value) -> bool:
    """Whether it is all that a tokenizer gave, whose ``to`` works in place, or an entry under a key."""
    if not isinstance(value, Tensor) or not value.opaque or value.device != LOADER:
        return False
    return bool(value.steps) and value.steps[0].text == FROM_TOKENIZER


def is_token_tensor(value: Tensor) -> bool:
    """Whether it is a tensor that a tokenizer gave, or an entry of what it gave, and is where that was made."""
    return value.device == LOADER and bool(value.steps) and value.steps[0].text == FROM_TOKENIZER and not value.opaque


def entry_of_encoding(encoding: Tensor, name: str) -> Tensor | None:
    """``encoding.input_ids``; None for what is no entry, or of another batch."""
    return replace(encoding, opaque=False) if is_encoding(encoding) and name in _ENTRIES else None
