"""Names of lengths, indices and the like, which are often kept on the CPU."""

from __future__ import annotations

import pytest

from torchdevlint.flow.scope.bookkeeping import is_bookkeeping, is_quantity


@pytest.mark.parametrize(
    "path",
    ["seq_len", "batch.lengths", "seqlen", "inputLengths", "num_nodes", "idx_train", "node_index", "self.timesteps",
     "ids", "input_ids", "attention_mask_cpu", "host_buffer", "seed", "n", "hit_count", "cu_seqlens"],
)  # fmt: skip
def test_bookkeeping(path: str) -> None:
    assert is_bookkeeping(path)


@pytest.mark.parametrize(
    "path",
    ["blend", "discount", "self.time_embedding", "enumerated", "silence", "index_map.weight", "ghost", "Valence",
     "length_regulator", "mask", "", None],
)  # fmt: skip
def test_values(path: str | None) -> None:
    assert not is_bookkeeping(path)


@pytest.mark.parametrize(
    ("path", "is_one"),
    [("seq_len", True), ("num_nodes", True), ("host_ids", True), ("indices", False), ("idx_train", False)],
)
def test_an_index_is_no_quantity(path: str, is_one: bool) -> None:
    assert is_quantity(path) is is_one
    assert is_bookkeeping(path)
