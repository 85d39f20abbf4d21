"""Several GPUs: what wrappers hide, and where they want their model."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Span


class HiddenAttribute(Fact, frozen=True):
    """An attribute that is read from a wrapper, which does not hand it through to the model inside.

    `model` is the text of the wrapper at `model_at`, `wrapper` its class and `wrapped_at` where it is made;
    `class_name` is the class of the model inside if that defines the attribute, else empty; `called` whether it is a
    method that is called; `conditional` whether the wrap happens on some paths only. `unwrap` is the function that
    gives the model inside, if the library that wrapped it has one, and `unwrap_here` whether it has that name at the
    place too.
    """

    attribute: str
    called: bool
    model: str
    wrapper: str
    wrapped_at: Span
    class_name: str
    conditional: bool
    model_at: Span
    unwrap: str = ""
    unwrap_here: bool = True


class DataParallelElsewhere(Fact, frozen=True):
    """A `DataParallel` whose model is not on the first of its GPUs when it is called.

    `at` is the wrap, `model` the text of what is wrapped, `first` the GPU that the wrapper wants it on and `found`
    where it is, empty where nothing moves it; `moved_at` is what put it there. `listed` says that there is a list.
    `model_at` is what is wrapped, and `device` a name for a device to move it to first, if one is surely bound there;
    `ids` the list that begins with the GPU of the model, if that is in the list at `ids_at`.
    """

    model: str
    first: str
    found: str
    moved_at: Span | None
    called_at: Span
    listed: bool
    model_at: Span
    device: str = ""
    ids_at: Span | None = None
    ids: str = ""


class GatheredLoss(Fact, frozen=True):
    """A loss that the forward of a model in `DataParallel` returns is used as if it were one number.

    `loss` is its text and `loss_at` its place, `method` what is called, `error` what that raises with two GPUs,
    `called_at` the call of the wrapper.
    """

    loss: str
    method: str
    error: str
    called_at: Span
    loss_at: Span


class StateOfReplica(Fact, frozen=True):
    """Something that the forward of a model in `DataParallel` does which its replicas make wrong.

    `kind` is ``write`` (`text` is the attribute that is written and lost), ``parameters`` (`text` asks ``self`` for its
    parameters, of which a replica has none) or ``device`` (`text` is a GPU that is named by its number).
    `class_name` is the class, `wrapped_at` the wrap; `inside` is the place, where `at` is the wrap because the class is
    in another file.
    """

    kind: str
    text: str
    class_name: str
    wrapped_at: Span
    inside: Span | None = None


class MovedAfterDispatch(Fact, frozen=True):
    """A model that ``from_pretrained`` has put on its devices is moved, or wrapped in `DataParallel`.

    `method` is what moves it, empty for the wrap; `how` is ``spread`` (a device map over several devices) or
    ``quantised`` (weights of 8 bits), `argument` what says so in the call at `loaded_at`. `model_at` is the model, if
    it can stand alone in place of the move.
    """

    model: str
    method: str
    how: str
    argument: str
    loaded_at: Span
    model_at: Span | None = None
