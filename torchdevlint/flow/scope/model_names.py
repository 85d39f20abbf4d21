"""Names of models: what is called so, and is of no known class, takes its inputs in one place.

Such a name decides only together with what the call is given.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from torchdevlint.flow.scope.names import dotted_path, last_name, names_of_item
from torchdevlint.patterns import regex

_MODEL = regex(
    r"(?:^|_)(?:model|net|network|unet|backbone|encoder|decoder|generator|discriminator|classifier|critic|actor|policy"
    r"|transformer|bert|rnn|lstm|gru)\d?$"
)
_SHORT_LOSS = regex(r"mse|bce|l1|l2|ce|nll|kl|huber|mae")
TAKEN_BY_NAME = frozenset(
    """
    input_ids attention_mask token_type_ids position_ids labels pixel_values inputs_embeds decoder_input_ids
    decoder_attention_mask
    """.split()
)
"""Parameters of models of transformers, which take nothing but tensors, and move none."""


def is_named_like_a_model(callee: ast.expr) -> bool:
    """Whether what is called has a model's name, or is kept under one: ``self.target_net``, ``models["encoder"]``."""
    return _is_name_of_a_model(last_name(callee) or next(names_of_item(callee)))


@lru_cache(maxsize=8192)
def _is_name_of_a_model(name: str) -> bool:
    return _MODEL.search(name.lower()) is not None


def is_named_like_a_loss(callee: ast.expr) -> bool:
    """Whether a callable of unknown kind is by its name a loss, which compares an output with a target."""
    name = (dotted_path(callee) or "").rpartition(".")[2].lower()
    return "criterion" in name or "loss" in name or name in ("crit", "objective")


def is_short_for_a_loss(callee: ast.expr) -> bool:
    """Whether it has the initials of a loss: what a function that trains is given as ``mse`` or ``self.bce``.

    So may be a number that is calculated of arrays, so it counts only beside a tensor that is made for it.
    """
    return _SHORT_LOSS.fullmatch(last_name(callee).lower()) is not None
