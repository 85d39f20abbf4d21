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


class DeprecatedAmp(Fact, frozen=True):
    """A function or class of ``torch.cuda.amp``, which ``torch.amp`` has for every accelerator.

    `name` is its own name, `text` the whole call or decorator, and `replacement` what to write instead, if it can be
    written down from what stands there.
    """

    name: str
    text: str
    replacement: str | None


class DefaultTensorType(Fact, frozen=True):
    """A call of ``torch.set_default_tensor_type``; `replacements` say the same, if the type is known.

    `text` is the call.
    """

    replacements: tuple[str, ...]
    text: str


class CudaOnlySelection(Fact, frozen=True):
    """A choice of the device that knows CUDA and the CPU only.

    `form` is ``choice``; ``default``, where the choice is the default value of a parameter, and so is made at import;
    or ``built``, where ``mps.is_built()`` is taken for the question whether a device is there. `text` is the choice.
    `question_at` is what asks, and `cuda_at` what is chosen then, where they can be written as `question` and `chosen`.
    """

    text: str
    form: str
    question_at: Span | None = None
    question: str = ""
    cuda_at: Span | None = None
    chosen: str = ""


class DoubleOnMps(Fact, frozen=True):
    """A tensor of float64 that goes to, or is made on, Apple's GPU, which has no such type.

    `device` is the text of the device, `surely` whether it is MPS on every machine, `why` says with its place why the
    tensor is float64, and `cast_after` is the conversion that follows the move, if one does; `move` is the move as it
    is written behind what is at `moved_at`, and `cast_at` all of it with the conversion, where both can change places.
    """

    device: str
    surely: bool
    why: str
    why_at: Span
    cast_after: str | None
    move: str = ""
    moved_at: Span | None = None
    cast_at: Span | None = None
