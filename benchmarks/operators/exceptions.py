"""Entries of the database in which the simulation may differ from a GPU, each with the reason. No other may."""

from __future__ import annotations

_SHAPES = "a 0-dim tensor is too small besides: which of the two errors comes first is another kernel's order"
_WORDS = "only the words differ: they are those of the CPU's kernel"
_SAMPLES = "the samples of the release that was recorded (2.11) are others than those of the one that is simulated"
_EMPTY = "of an empty matrix C++ makes the result, which cannot be told from one of the CPU"

EXCEPTIONS: dict[str, str] = {
    **dict.fromkeys(
        """
        module/nn.SoftMarginLoss operator/_unsafe_masked_index operator/_unsafe_masked_index_put_accumulate
        operator/addcdiv operator/addcmul operator/as_strided_copy operator/cartesian_prod operator/cumprod
        operator/cumsum operator/cumulative_trapezoid operator/deg2rad operator/diagonal_copy operator/diff
        operator/lerp operator/linalg.matrix_power operator/linalg.multi_dot operator/logsumexp operator/mv
        operator/nn.functional.conv1d operator/nn.functional.conv2d operator/nn.functional.conv3d
        operator/nn.functional.conv_transpose1d operator/nn.functional.conv_transpose2d
        operator/nn.functional.conv_transpose3d operator/nn.functional.embedding
        operator/nn.functional.soft_margin_loss operator/permute_copy operator/rad2deg operator/renorm operator/std
        operator/slice_scatter operator/tensor_split operator/transpose_copy operator/trapezoid operator/trapz
        operator/unfold_copy operator/unsqueeze_copy operator/var operator/view_copy
        """.split(),
        _SHAPES,
    ),
    **dict.fromkeys(
        "module/nn.CTCLoss operator/nn.functional.ctc_loss operator/expand_as operator/index_put "
        "operator/linalg.eigvals operator/nn.functional.linear".split(),
        _WORDS,
    ),
    "module/nn.GroupNorm": _SAMPLES,
    "operator/linalg.matrix_rank": _EMPTY,
    "operator/linalg.matrix_rank.hermitian": _EMPTY,
}
