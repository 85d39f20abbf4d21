"""Which functions of other libraries read a tensor through NumPy, so that it has to be on the CPU; as data."""

from __future__ import annotations

from functools import lru_cache

LIBRARIES = (
    "numpy.", "matplotlib.", "sklearn.", "scipy.", "cv2.", "PIL.", "pandas.", "skimage.", "seaborn.", "torchaudio.save",
)  # fmt: skip
"""What reads a tensor through NumPy. `torchaudio.save` does with soundfile; its other backends refuse it as well."""
_READS_NOTHING = frozenset(
    """
    shape size ndim prod iterable isscalar nonzero diff flip squeeze swapaxes moveaxis rollaxis real split
    array_split hsplit vsplit dsplit take_along_axis put_along_axis tril_indices_from triu_indices_from bmat
    array_equal array_equiv empty ones zeros full eye identity indices tri tril_indices triu_indices
    broadcast_shapes result_type fromiter title suptitle xlabel ylabel legend text annotate set_title set_xlabel
    set_ylabel set_label float64 double
    """.split()
)
"""What takes sizes, numbers or texts, or hands the work to the tensor's own methods, as an index by arrays is.

``np.float64`` is a subclass of Python's float, and falls back to that where it gets no array (executed with NumPy 2).
"""
_PASSES_ON = (
    "numpy.random.", "scipy.optimize.", "scipy.integrate.",
    "sklearn.model_selection.train_test_split", "sklearn.utils.shuffle", "sklearn.utils.resample", "pandas.concat",
)  # fmt: skip
"""What takes sizes, gives what it gets to functions of the caller, or takes rows of it by an index, as
`train_test_split` of scikit-learn 1.9.1 did where it was executed; the other two do so by the same helper."""

GIVE_TENSORS = frozenset(
    f"numpy.{name}"
    for name in """
    abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt ceil conj conjugate cos cosh deg2rad
    degrees divide equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod greater greater_equal hypot
    isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
    logical_xor maximum minimum mod multiply negative not_equal positive power rad2deg radians reciprocal remainder rint
    sign sin sinh sqrt square subtract tan tanh true_divide trunc
    """.split()
)
"""Functions of NumPy that give a tensor of the CPU where they get one, by its ``__array_wrap__``: the `ufunc` ones."""


@lru_cache(maxsize=4096)
def reads_on_host(name: str) -> bool:
    """Whether a library function turns its tensors into arrays."""
    reads = name.startswith(LIBRARIES) and not name.startswith(_PASSES_ON)
    return reads and name.rpartition(".")[2] not in _READS_NOTHING
