"""Which part of each library's test suite is run, and how its tests choose their device."""

from __future__ import annotations

from suites import Suite

SUITES = (
    Suite(
        "gpytorch",
        "1.15.2",
        "if `torch.cuda.is_available()`, beside the CPU",
        ("test",),
        shipped=True,
    ),
    Suite(
        "linear_operator",
        "0.6.1",
        "if `torch.cuda.is_available()`, beside the CPU",
        ("test/operators", "test/utils", "test/functions"),
        shipped=True,
    ),
    Suite(
        "stable_baselines3",
        "2.9.2",
        'models take `device="auto"`; some tests have a parameter `device`',
        (
            *"tests/test_buffers.py tests/test_predict.py tests/test_distributions.py tests/test_run.py".split(),
            *"tests/test_train_eval_mode.py tests/test_custom_policy.py tests/test_sde.py tests/test_her.py".split(),
            "tests/test_save_load.py::test_save_load",
        ),
        shipped=True,
        needs="ale-py",
    ),
    Suite(
        "accelerate",
        "1.15.0",
        "`torch_device`, `require_cuda`, `require_multi_device` of `accelerate.test_utils`",
        (
            *"tests/test_accelerator.py tests/test_big_modeling.py tests/test_hooks.py tests/test_cpu.py".split(),
            *"tests/test_data_loader.py tests/test_offload.py tests/test_optimizer.py tests/test_scheduler.py".split(),
            *"tests/test_utils.py tests/test_memory_utils.py tests/test_kwargs_handlers.py".split(),
            *"tests/test_modeling_utils.py tests/test_grad_sync.py tests/test_state_checkpointing.py".split(),
            "tests/test_metrics.py",
        ),
        shipped=True,
        needs="parameterized",
        sources=("src", "."),
    ),
    Suite(
        "pytorch-metric-learning",
        "2.8.1",
        "the variable `TEST_DEVICE`, which is `cuda` if it is not set",
        (
            *"tests/losses tests/reducers tests/regularizers tests/miners".split(),
            *"--ignore=tests/losses/test_cross_batch_memory.py --ignore=tests/losses/test_multiple_losses.py".split(),
            *"--ignore=tests/losses/test_self_supervised_loss.py --ignore=tests/losses/test_pnp_loss.py".split(),
            *"--ignore=tests/losses/test_ranked_list_loss.py".split(),
            "--ignore=tests/miners/test_distance_weighted_miner.py",
        ),
        shipped=False,
        sources=("src", "."),
        plain={"TEST_DEVICE": "cpu"},
    ),
    Suite(
        "torchmetrics",
        "1.9.0",
        'a parameter `device` with "cuda" that is skipped, and `skipif(not torch.cuda.is_available())`',
        (
            *"unittests/bases/test_metric.py unittests/bases/test_collections.py unittests/utilities".split(),
            *"--ignore=unittests/utilities/test_plot.py --override-ini=addopts=".split(),
        ),
        shipped=False,
        needs="cachier, matplotlib",
        root="tests",
        sources=("src", "tests"),
    ),
    Suite(
        "torch_geometric",
        "2.8.0.post1",
        "`withCUDA` gives a parameter `device`, `onlyCUDA` skips",
        (*"test/nn test/utils test/data test/test_edge_index.py test/test_index.py --override-ini=addopts=".split(),),
        shipped=False,
    ),
    Suite(
        "botorch",
        "0.15.1",
        "`self.device` of `BotorchTestCase` is the CPU; single tests ask `torch.cuda.is_available()`",
        (
            *"test/posteriors test/acquisition/test_analytic.py test/test_fit.py".split(),
            "test/models/test_model_list_gp_regression.py",
        ),
        shipped=False,
        needs="pyro-ppl",
    ),
)
"""Those of which a subset takes no more than a few minutes on two cores; each needs pytest and pytest-timeout."""
