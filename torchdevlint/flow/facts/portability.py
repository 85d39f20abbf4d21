"""Code that runs on one kind of machine only, and API that PyTorch gives up."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Span


class NamedCuda(Fact, frozen=True):
    """A place that names CUDA, and that nothing around it makes depend on whether it is there.

    `text` is what names it (``.cuda()``, ``"cuda:1"``, ``torch.device("cuda")``), `number` the ordinal, if any. `form`
    is ``move`` (a method of a tensor or module), ``load`` (the place for what is read from a file), ``current`` (the
    current GPU is set) or ``device``. Where a name is bound to the device here, `chosen_at` is the text that names it,
    and `torch` what the file calls that.
    """

    text: str
    number: int | None
    form: str
    chosen_at: Span | None = None
    torch: str | None = None
