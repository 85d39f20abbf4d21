"""Loading and saving."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Span


class CheckpointLoad(Fact, frozen=True):
    """A call that reads storages back to the device they were saved on, because nothing says otherwise.

    `function` is the public name (``torch.load``, ``torch.jit.load`` ...); `only_state_dict` whether the result only
    feeds `load_state_dict` without ``assign``; `rank_code` whether the file runs one process a GPU. A function of one's
    own that hands its `parameter` on to such a call is one itself. `none_at` is where ``None`` is given for it,
    and `only_place` says that it is handed on and nothing else. `published` weights are fetched from an address;
    what lies in somebody's home counts as well, since others cannot read it as it stands.
    """

    function: str
    text: str
    only_state_dict: bool
    rank_code: bool
    parameter: str = "map_location"
    none_at: Span | None = None
    only_place: bool = True
    published: bool = False
    scope: str = ""
    """The qualified name of the function that holds the call."""
    of_data: bool = False
    """Whether the code around calls it data, and nothing in the project is known to write the file from elsewhere."""
    brought_back: bool = False
    """Whether what the project saves beside the file was sent to the CPU first."""
    of_weights: bool = False
    """Whether it goes into one `load_state_dict` alone: then a process holds it no longer than it has to."""


class WrappedStateDict(Fact, frozen=True):
    """A state dict saved with, or loaded into, the wrong prefix.

    `direction` is ``save`` (a wrapper's keys are written) or ``load`` (a file and a model disagree);
    `prefix` is ``module.`` or ``_orig_mod.``; `conditional` whether the wrap happens on some paths only. `model_at` and
    `method_at` are where the model, and its method, stand in the call that gives or takes the state dict.
    """

    direction: str
    wrapper: str
    prefix: str
    model: str
    wrapped_at: Span
    conditional: bool
    saved_at: Span | None = None
    model_at: Span | None = None
    method_at: Span | None = None
    tested: bool = False
    """Whether it is a test that says so, as it is for a model that comes from outside."""

    @property
    def is_of_processes(self) -> bool:
        """Whether the wrapper is one for several processes."""
        return self.wrapper.endswith("DistributedDataParallel")
