"""A plugin of pytest for BoTorch's suite: where CUDA is, its tests run there, as its own `test_cuda.py` has it."""

from __future__ import annotations


def pytest_sessionstart() -> None:
    import torch
    from botorch.utils.testing import BotorchTestCase

    if torch.cuda.is_available():
        BotorchTestCase.device = torch.device("cuda")
