"""The inference on a few lines of code, as the tests of this folder want it."""

from __future__ import annotations

import ast
import textwrap

from torchdevlint import rules
from torchdevlint.config import Settings
from torchdevlint.flow.analyse import analyse
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.source.imported import keep_imports
from torchdevlint.source.text import Source

EVERY_RULE = frozenset(rule.code for rule in rules.all_rules())
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def facts_of(text: str, head: str = HEAD) -> list[Fact]:
    """What the inference says of a file: `text`, dedented, after the usual imports of torch."""
    source_text = head + textwrap.dedent(text)
    tree = ast.parse(source_text)
    keep_imports(tree)
    source = Source(source_text, tree)
    return analyse(tree, source, Settings(), observers=rules.observers(EVERY_RULE))


def mixed(text: str, head: str = HEAD) -> list[str]:
    """The operands that stayed on the CPU in operations with a tensor from elsewhere, as written, in source order."""
    return [fact.stayed.text for fact in facts_of(text, head) if isinstance(fact, MixedDevices)]


def mixed_rows(text: str) -> list[int]:
    """The rows of `text`, from 1, of operations on two devices; no head is put before it."""
    return [fact.at.row for fact in facts_of(text, "") if isinstance(fact, MixedDevices)]
