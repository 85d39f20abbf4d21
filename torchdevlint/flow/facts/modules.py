"""What `Module.to` does not reach."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact, Operand
from torchdevlint.model import Span


class ModulesInContainer(Fact, frozen=True):
    """A list, tuple or dict of modules or parameters as an attribute of a Module, which registers none of them.

    `container` is ``list``, ``tuple`` or ``dict``, `holds` ``modules`` or ``parameters``, `suggestion` the class
    that registers them (``nn.ModuleList``), `used_at` where the attribute is read, if it is. `written`, at
    `written_at`, is what is assigned, if the class that registers can take its place, and `spelled` the name of
    that in the file. `comma` says that a comma at the end makes the tuple, `instead_of` where the attribute holds a
    registered module already, which nothing but a Module replaces, `returned_at` where a method or function gives
    the container. `holder` is what the Module is called there.
    """

    attribute: str
    class_name: str
    container: str
    holds: str
    suggestion: str
    used_at: Span | None
    written: str = ""
    written_at: Span | None = None
    spelled: str | None = None
    comma: bool = False
    instead_of: Span | None = None
    returned_at: Span | None = None
    holder: str = "self"


class MovedParameter(Fact, frozen=True):
    """``self.w = nn.Parameter(t).to(d)``: what is assigned is no Parameter where the move does something.

    `move` is all of the expression at `at`. Where it is nothing but the call at `wrap_at` and the move, `tensor` is
    what is wrapped, at `tensor_at`. `registered` is whether the Module has a Parameter under the name already.
    """

    attribute: str
    class_name: str
    move: str
    registered: bool = False
    tensor: str = ""
    tensor_at: Span | None = None
    wrap_at: Span | None = None

    @property
    def ending(self) -> str:
        """The move alone, such as ``.to(d)``; empty where it is not known, or on another line than the wrap ends."""
        if self.wrap_at is None or self.wrap_at.end_row != self.at.end_row:
            return ""
        return self.move[self.wrap_at.end_column - self.at.end_column :]


class LossNotMoved(Fact, frozen=True):
    """A loss with a weight, or a metric, that nothing moves, and that is called with tensors of an accelerator.

    `class_name` is the public name of what is made at `at`, `made` its text; `weight` the argument that a loss keeps,
    and `weight_evidence` where that comes from; `used` and `used_at` the call; `target` the text of the device that it
    has to be moved to, or empty where no short expression says it; `bound` whether its names are surely bound at `at`.
    """

    class_name: str
    made: str
    weight: str | None
    weight_evidence: tuple[tuple[str, Span], ...]
    used: str
    used_at: Span
    other: Operand
    target: str
    bound: bool = False
    of_argument: bool = False
    """What it is called with is where an argument of the function is that was entered."""
    placed_by_caller: bool = False
    """A call gives the function what was put on an accelerator."""
    by_default: bool = False
    """What it keeps was made on the default device."""

    @property
    def rests_on_default(self) -> bool:
        return self.by_default
