"""The table of other libraries: against those that are installed, and the names that it must not take for Modules."""

from __future__ import annotations

import importlib

import pytest

from torchdevlint.flow.knowledge import libraries

MODULES = {
    "pytorch_lightning.LightningModule": True,
    "pytorch_lightning.core.module.LightningModule": True,
    "lightning.pytorch.LightningModule": True,
    "torchmetrics.Metric": True,
    "torchmetrics.Accuracy": None,
    "torchmetrics.classification.BinaryAccuracy": True,
    "transformers.PreTrainedModel": True,
    "transformers.modeling_utils.PreTrainedModel": True,
    "transformers.BertModel": True,
    "transformers.BertForSequenceClassification": True,
    "transformers.models.bert.modeling_bert.BertPreTrainedModel": True,
    "sentence_transformers.SentenceTransformer": True,
    "stable_baselines3.common.policies.ActorCriticPolicy": True,
    "torch_geometric.nn.MessagePassing": False,
    "torch_geometric.nn.GCNConv": False,
    "torch_geometric.nn.conv.gat_conv.GATConv": False,
    "pyro.nn.PyroModule": False,
    "gpytorch.Module": False,
    "gpytorch.kernels.RBFKernel": True,
    "gpytorch.models.ExactGP": False,
    "botorch.models.model.Model": False,
    "torchvision.models.ResNet": False,
    "torchvision.models.detection.FasterRCNN": False,
    "timm.models.vision_transformer.VisionTransformer": False,
    "pytorch_metric_learning.losses.TripletMarginLoss": False,
}
"""Modules, and whether an instance has an attribute ``device`` (None: it is a function that gives one)."""
OF_LIBRARIES = (
    "transformers.BertTokenizer transformers.BertConfig transformers.TFBertModel transformers.Trainer "
    "transformers.DataCollatorForLanguageModeling transformers.BatchEncoding transformers.AutoModelForCausalLM "
    "diffusers.EMAModel diffusers.training_utils.EMAModel diffusers.StableDiffusionPipeline torch_geometric.data.Data "
    "torchvision.models.ResNet50_Weights torchvision.models.googlenet.GoogLeNetOutputs torchvision.models.resnet50 "
    "timm.models.FeatureInfo timm.create_model pytorch_lightning.Trainer accelerate.Accelerator"
).split()
OTHERS = [*OF_LIBRARIES, "model.Model"]


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    known = libraries.known(name)
    assert known is not None
    assert known.module
    assert MODULES[name] is None or known.device is MODULES[name]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_module(name: str) -> None:
    assert not libraries.is_module(name)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.library(name.partition(".")[0])) for name in [*MODULES, *OF_LIBRARIES]],
)
def test_the_installed_library_agrees(name: str) -> None:
    path, _, last = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(path), last)
    except Exception as reason:  # noqa: BLE001 (libraries fail to import in many ways)
        pytest.skip(f"not to be had: {reason}"[:100])
    import torch

    is_module = isinstance(found, type) and issubclass(found, torch.nn.Module)
    assert is_module == libraries.is_module(name)
    if is_module and MODULES[name] is not None:
        assert hasattr(found, "device") is MODULES[name] or "device" in getattr(found, "__annotations__", {})


def test_containers_that_move_in_place() -> None:
    assert libraries.moves_in_place("transformers.BatchEncoding")
    assert libraries.moves_in_place("torch_geometric.data.Data")
    assert not libraries.moves_in_place("tensordict.TensorDict")
