"""What a rule of other people may import from the linter: these names, and no others, are kept from release to release.

``from torchdevlint.rule_api import Fact, Report, Severity`` is how a rule begins; `docs/writing-a-rule.md` says how it
goes on. A name that is to go is announced in the changelog, and stays for one more minor release. Rules of the linter
itself import from where things are, and may use more.
"""

from __future__ import annotations

from torchdevlint.flow.events import (
    AttributeAssigned,
    AttributeRead,
    Branched,
    FileEnded,
    FileStarted,
    FunctionCalled,
    FunctionEnded,
    LibraryCalled,
    LibraryReturned,
    Looped,
    MethodCalled,
    ModuleCalled,
    Operated,
    Placed,
)
from torchdevlint.flow.facts.checkpoints import CheckpointLoad
from torchdevlint.flow.facts.common import Creation, Fact, Operand
from torchdevlint.flow.facts.tensors import DiscardedMove, MixedDevices, ReadOnHost
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import (
    CPU,
    DEFAULT,
    MODEL,
    TOP,
    Device,
    Origin,
    Relation,
    literal,
    on_cpu,
    relation,
)
from torchdevlint.flow.state.joins import alternatives, is_module
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State, only
from torchdevlint.flow.state.values import UNKNOWN, Const, Dev, Library, Map, Obj, Ref, Seq, Tensor, Unknown, Value
from torchdevlint.model import Applicability, Edit, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import (
    added_after,
    added_before,
    argument_added,
    argument_removed,
    argument_replaced,
    attribute_renamed,
    call_added,
    cut_after,
    fix,
    inserted,
    replaced,
)
from torchdevlint.rules.wording import code, edit, operand
from torchdevlint.source.nodes import inside, is_inside, nodes_in

__all__ = [
    # What a rule says
    "Applicability", "Edit", "Fix", "Note", "Report", "Severity", "Span",
    # Facts: the base of those that a rule records, and those that the inference records for all
    "CheckpointLoad", "Creation", "DiscardedMove", "Fact", "MixedDevices", "Operand", "ReadOnHost",
    # What happens while a file is run, for the table `EVENTS`
    "AttributeAssigned", "AttributeRead", "Branched", "FileEnded", "FileStarted", "FunctionCalled", "FunctionEnded",
    "LibraryCalled", "LibraryReturned", "Looped", "MethodCalled", "ModuleCalled", "Operated", "Placed",
    # Where it happens: the activation of a function, the path, the file; and the arguments of a call
    "Arguments", "Frame", "Machine", "State",
    # What is known of an expression: values, their alternatives, and the devices of tensors
    "UNKNOWN", "Const", "Dev", "Library", "Map", "Obj", "Ref", "Seq", "Tensor", "Unknown", "Value",
    "alternatives", "is_module", "only",
    "CPU", "DEFAULT", "MODEL", "TOP", "Device", "Origin", "Relation", "literal", "on_cpu", "relation",
    # What the text says
    "parameter_names", "dotted_path", "inside", "is_inside", "nodes_in",
    # The edits of a fix, and how code is quoted in a sentence
    "added_after", "added_before", "argument_added", "argument_removed", "argument_replaced", "attribute_renamed",
    "call_added", "code", "cut_after", "edit", "fix", "inserted", "operand", "replaced",
]  # fmt: skip
