"""What is known of the classes of other libraries, as data: whether they are Modules, and who moves them and for them.

A class is known by its library and its name, under whichever path the library exports it; a family by where its members
live. Taken from the sources of the releases that are named below; ``tests/flow/test_libraries.py`` holds the table
against those that are installed. What is not listed is not known, and nothing is concluded from it.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache

from msgspec import Struct

from torchdevlint.patterns import regex

ARRAY = "numpy.ndarray"


class Known(Struct, frozen=True):
    """One class, or each class of a family.

    `module`: it is a `torch.nn.Module`. `device`: its instances have an attribute ``device``. `managed`: it, or the
    library that runs it, places the model and its batches. `in_place`: its ``to`` works in place, though it is no
    Module. `on_device`: methods that are called with tensors on the device of the model, as ``forward`` is; those of a
    class that is no Module get the model before them. `brings_along`: what it is called with is brought to where the
    first argument is.
    """

    module: bool = True
    device: bool = False
    managed: bool = False
    in_place: bool = False
    on_device: tuple[str, ...] = ()
    brings_along: bool = False


OTHER_FRAMEWORKS = frozenset("chainer flax jax keras mindspore mlx mxnet paddle tensorflow tinygrad".split())
"""Libraries with tensors and layers of their own, which are none of torch's."""
DETACHING = frozenset("jittor megengine oneflow paddle".split())
"""Those whose tensors are detached and read as PyTorch's are: ``x.detach().numpy()``."""
PLAIN_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
"""Bases that bring no attribute which holds anything."""
LEAVES_MODELS = frozenset(
    """
    builtins.print builtins.str builtins.repr builtins.type builtins.isinstance builtins.issubclass builtins.id
    builtins.hasattr torch.save torchsummary.summary wandb.watch copy.deepcopy
    """.split()
)
"""Functions that look at a model, write it down or copy it, and leave it where it is."""
_MODULE = Known()
_WITH_DEVICE = Known(device=True)
_CONTAINER = Known(module=False, in_place=True)
_PIPELINE = Known(module=False, device=True, managed=True)
_LIGHTNING = Known(
    device=True, managed=True, on_device=("training_step", "validation_step", "test_step", "predict_step")
)
_METRIC = Known(device=True, on_device=("update", "compute"))
_CONVOLUTION = Known(on_device=("message", "message_and_aggregate", "edge_update", "update"))
_TRAINER = Known(
    module=False, device=True, managed=True, on_device=("compute_loss", "training_step", "prediction_step")
)
_SINGLE_CLASSES: tuple[tuple[tuple[str, ...], str, Known], ...] = (
    (("torch",), "ScriptModule RecursiveScriptModule", _MODULE),
    (("pytorch_lightning", "lightning"), "LightningModule", _LIGHTNING),
    (("pytorch_lightning", "lightning"), "LightningDataModule", Known(module=False, managed=True)),
    (
        ("pytorch_lightning", "lightning", "lightning_lite", "lightning_fabric"),
        "Fabric LightningLite",
        Known(module=False, device=True, managed=True),
    ),
    (("torchmetrics",), "Metric MetricCollection", _METRIC),
    (("pytorch_lightning",), "Metric", _METRIC),
    (("transformers", "pytorch_transformers"), "BatchEncoding BatchFeature", _CONTAINER),
    (("transformers",), "Trainer Seq2SeqTrainer", _TRAINER),
    (("transformers",), "Pipeline TrainingArguments", _PIPELINE),
    (("transformers",), "StoppingCriteria LogitsProcessor LogitsWarper", Known(module=False)),
    (("diffusers",), "DiffusionPipeline", _PIPELINE),
    (("diffusers",), "SchedulerMixin ConfigMixin VaeImageProcessor", Known(module=False)),
    (("diffusers",), "ModelMixin", _WITH_DEVICE),
    (("accelerate",), "Accelerator PartialState AcceleratorState", Known(module=False, device=True, managed=True)),
    (("sentence_transformers",), "SentenceTransformer CrossEncoder", _WITH_DEVICE),
    (("peft",), "PeftModel PeftModelForCausalLM", _WITH_DEVICE),
    (("torch_geometric",), "MessagePassing", _CONVOLUTION),
    (
        ("torch_geometric",),
        "MLP GCN GraphSAGE GIN GAT PNA EdgeCNN GAE VGAE ARGA ARGVA DimeNet DimeNetPlusPlus GraphUNet SchNet",
        _MODULE,
    ),
    (("torch_geometric",), "Data Batch HeteroData TemporalData", _CONTAINER),
    (("pyro",), "PyroModule PyroSample", _MODULE),
    (("gpytorch",), "Module Mean Likelihood ExactGP ApproximateGP GP MarginalLogLikelihood", _MODULE),
    (("gpytorch",), "Kernel", _WITH_DEVICE),
    (("botorch",), "Model GPyTorchModel AcquisitionFunction MCAcquisitionFunction", _MODULE),
    (("fairseq",), "BaseFairseqModel FairseqModel FairseqEncoder FairseqDecoder FairseqIncrementalDecoder", _MODULE),
    (("fairseq",), "FairseqEncoderModel FairseqEncoderDecoderModel FairseqLanguageModel FairseqCriterion", _MODULE),
    (("fairseq",), "FairseqTask FairseqDataset", Known(module=False)),
    (("allennlp",), "Model Seq2SeqEncoder Seq2VecEncoder TokenEmbedder TextFieldEmbedder Attention", _MODULE),
    (("allennlp",), "Predictor DatasetReader Registrable", Known(module=False)),
    (("mmcv", "mmengine"), "BaseModule", _MODULE),
    (("mmengine",), "BaseModel", _MODULE),
    (("mmengine",), "BaseDataElement InstanceData", Known(module=False)),
    (("mmdet", "mmdet3d"), "BaseDetector SingleStageDetector TwoStageDetector BaseDenseHead", _MODULE),
    (("mmseg",), "BaseSegmentor EncoderDecoder BaseDecodeHead", _MODULE),
    (("detectron2",), "GeneralizedRCNN ProposalNetwork PanopticFPN RetinaNet MetaArch", _WITH_DEVICE),
    (("detectron2",), "Backbone ROIHeads StandardROIHeads Conv2d", _MODULE),
    (("speechbrain",), "Brain", Known(module=False, device=True, managed=True)),
    (("speechbrain",), "Pretrained", Known(device=True, managed=True)),
    (("stable_baselines3",), "BasePolicy BaseModel ActorCriticPolicy", _WITH_DEVICE),
    (("stable_baselines3",), "BaseFeaturesExtractor", _MODULE),
    (("flair",), "Model Classifier Embeddings TokenEmbeddings DocumentEmbeddings", _MODULE),
    (("nemo",), "ModelPT NeuralModule", _LIGHTNING),
    (("espnet", "espnet2"), "AbsESPnetModel AbsEncoder AbsDecoder AbsFrontend", _MODULE),
    (("efficientnet_pytorch",), "EfficientNet", _MODULE),
    (("open_clip", "clip"), "CLIP", _MODULE),
    (("catalyst",), "Runner", Known(module=False, device=True, managed=True)),
    (("ignite",), "Metric", Known(module=False)),
    (("e3nn",), "TensorProduct FullyConnectedTensorProduct Linear", _MODULE),
    (("escnn", "e2cnn"), "EquivariantModule R2Conv SequentialModule", _MODULE),
    (("tensordict", "torchrl"), "TensorDictModuleBase", _MODULE),
    (("tensordict", "torchrl"), "TensorDictModule", _WITH_DEVICE),
    (("torch_scatter", "torch_sparse"), "SparseTensor", Known(module=False)),
    (("kornia",), "ImageModule GeometricAugmentationBase2D", _MODULE),
)
_FAMILIES: tuple[tuple[re.Pattern[str], Known], ...] = tuple(
    (regex(pattern), known)
    for pattern, known in (
        (r"(?:pytorch_)?transformers\.(?:[\w.]+\.)?\w*PreTrainedModel", _WITH_DEVICE),
        (
            r"(?:pytorch_)?transformers\.(?:[\w.]+\.)?(?!AutoModel|TF|Flax|DataCollator)[A-Z]\w*(?:Model|For[A-Z]\w+)",
            _WITH_DEVICE,
        ),
        (r"diffusers\.(?:pipelines\.[\w.]+\.)?[A-Z]\w*Pipeline", _PIPELINE),
        (r"diffusers\.(?:models\.[\w.]+\.)?(?:(?!EMA)[A-Z]\w*Model|AutoencoderKL)", _WITH_DEVICE),
        (r"(?:pytorch_lightning\.metrics|torchmetrics)\.(?:[\w.]+\.)?[A-Z][a-z]\w+", _METRIC),
        (r"torchvision\.models\.(?:\w+\.)*[A-Z]\w+(?<!Weights)(?<!Enum)(?<!Outputs)", _MODULE),
        (r"torchvision\.ops\.(?:\w+\.)*(?:MLP|Conv2dNormActivation|FeaturePyramidNetwork|DeformConv2d)", _MODULE),
        (r"timm\.(?:models|layers)\.(?:\w+\.)*[A-Z]\w+(?<!Cfg)(?<!Info)(?<!Type)(?<!Hooks)(?<!Format)", _MODULE),
        (r"torch_geometric\.nn\.(?:(?:conv|dense|pool|norm|models)\.(?:\w+\.)?)?[A-Z]\w+Conv", _CONVOLUTION),
        (r"dgl\.nn\.(?:pytorch\.)?(?:\w+\.)*[A-Z]\w+Conv", _MODULE),
        (r"monai\.networks\.(?:nets|blocks|layers)\.(?:\w+\.)*[A-Z]\w+", _MODULE),
        (r"monai\.losses\.(?:\w+\.)*[A-Z]\w+Loss", _MODULE),
        (
            r"segmentation_models_pytorch\.(?:Unet|UnetPlusPlus|FPN|Linknet|PSPNet|PAN|DeepLabV3\w*)",
            _MODULE,
        ),
        (r"gpytorch\.kernels\.(?:\w+\.)*[A-Z]\w+Kernel", _WITH_DEVICE),
        (r"gpytorch\.(?:means|likelihoods|models|mlls)\.(?:\w+\.)*[A-Z]\w+", _MODULE),
        (r"pytorch_metric_learning\.(?:losses|miners)\.(?:\w+\.)*[A-Z]\w+", Known(brings_along=True)),
        (r"torchaudio\.(?:models|transforms)\.(?:\w+\.)*[A-Z]\w+", _MODULE),
        (r"speechbrain\.(?:nnet|lobes)\.[\w.]+\.[A-Z]\w+", _MODULE),
    )
)
_BY_ROOT = {(root, name): known for roots, names, known in _SINGLE_CLASSES for root in roots for name in names.split()}


@lru_cache(maxsize=4096)
def known(name: str) -> Known | None:
    """What is known of the class with this dotted name, or None."""
    root, _, rest = name.partition(".")
    if not rest:
        return None
    single = _BY_ROOT.get((root, rest.rpartition(".")[2]))
    if single is not None:
        return single
    return next((each for pattern, each in _FAMILIES if pattern.fullmatch(name)), None)


_MAKES_MODEL = regex(
    r"torchvision\.models\.(?:\w+\.)*(?!get_|list_|register_|create_|load_|_)[a-z]\w+|timm\.create_model"
)
"""Functions that make a model with its weights on the CPU."""


@lru_cache(maxsize=4096)
def makes_model(name: str) -> bool:
    """Whether a function of another library makes a `torch.nn.Module` on the CPU."""
    return _MAKES_MODEL.fullmatch(name) is not None


def is_part_with_weights(name: str, attribute: str) -> bool:
    """Whether it is the layers before the classifier of a model of torchvision: ``models.vgg19().features``."""
    return attribute == "features" and name.startswith("torchvision.models.") and makes_model(name)


def is_module(name: str) -> bool:
    """Whether a class of another library is surely a `torch.nn.Module`."""
    found = known(name)
    return found is not None and found.module


def is_moved_by_trainer(name: str) -> bool:
    """Whether a class is a Module that the library which trains it moves, with all that it keeps."""
    found = known(name)
    return found is not None and found.module and found.managed


def moves_in_place(name: str) -> bool:
    """Whether the ``to`` of a class that is no Module works in place."""
    found = known(name)
    return found is not None and found.in_place


_SHOWS_PROGRESS = regex(r"tqdm\.(?:\w+\.)*tqdm(?:_notebook)?|rich\.progress\.track|alive_progress\.alive_it")


def shows_progress(name: str) -> bool:
    """Whether a function gives one after the other what its first argument holds, and draws how far it is."""
    return _SHOWS_PROGRESS.fullmatch(name) is not None


_HOLDS_TENSORS = regex(
    r"torchaudio\.transforms\.(?:\w+\.)*(?:InverseSpectrogram|Spectrogram|MelSpectrogram|MelScale|MFCC|LFCC|GriffinLim)"
)
"""Modules of other libraries that make a window or a filter bank as a buffer, whatever they are told."""


def holds_tensors(name: str) -> bool:
    """Whether each instance of a Module of another library surely has buffers, made on the default device."""
    return _HOLDS_TENSORS.fullmatch(name) is not None


_PRETRAINED = regex(r"transformers\.(?:\w+\.)*[A-Z]\w*(?:Model|For[A-Z]\w*|Encoder|Decoder)\.from_pretrained")
_PLACES_ITSELF = frozenset({"device_map", "quantization_config", "load_in_8bit", "load_in_4bit"})


def makes_pretrained_model(name: str, keywords: Container[str]) -> bool:
    """Whether a call gives a model of transformers as it was read, on the CPU, by a class that is one for models."""
    return _PRETRAINED.fullmatch(name) is not None and not any(each in keywords for each in _PLACES_ITSELF)


DEVICE_MAPS = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
"""Words by which transformers places a model on what accelerators there are."""


def dispatches_model(name: str, keywords: Container[str]) -> bool:
    """Whether a call gives a model of transformers that ``device_map`` places, and nothing else does."""
    if "device_map" not in keywords or _PRETRAINED.fullmatch(name) is None:
        return False
    return not any(each in keywords for each in _PLACES_ITSELF - {"device_map"})


DRAWING = frozenset(
    f"cv2.{each}" for each in "arrowedLine circle drawMarker ellipse getTextSize line putText rectangle".split()
)
"""What takes points and colours as tuples, and asks each part for a number: it gets one of any tensor, or of none."""

GRAPHS_ON_CPU = frozenset({"adj", "adj_external", "adjacency_matrix", "incidence_matrix", "inc", "adj_sparse"})
"""Methods of the graphs of DGL whose results are on the CPU by default, wherever the graph is: ``ctx=cpu()``.

https://www.dgl.ai/dgl_docs/generated/dgl.DGLGraph.adj_external.html; since DGL 1.0 `adj` gives a matrix of its own.
"""
