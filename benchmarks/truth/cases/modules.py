"""Layers, losses and optimizers."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import Case, case, ok, raises, rows
from benchmarks.truth.sources import ITERATOR, MODULE, OPTIMIZER, RNN, WRAPPER, ZERO_DIM, mixed, on

# layer: (constructor, input size)
LAYERS = {
    "linear": ("nn.Linear(3, 2)", "2, 3"),
    "conv1d": ("nn.Conv1d(2, 2, 2)", "1, 2, 4"),
    "conv2d": ("nn.Conv2d(1, 1, 2)", "1, 1, 4, 4"),
    "conv-transpose2d": ("nn.ConvTranspose2d(1, 1, 2)", "1, 1, 4, 4"),
    "batch-norm": ("nn.BatchNorm1d(3)", "2, 3"),
    "batch-norm-eval": ("nn.BatchNorm1d(3).eval()", "2, 3"),
    "layer-norm": ("nn.LayerNorm(3)", "2, 3"),
    "group-norm": ("nn.GroupNorm(1, 2)", "1, 2, 4"),
    "instance-norm": ("nn.InstanceNorm1d(2, affine=True)", "1, 2, 4"),
    "prelu": ("nn.PReLU()", "2, 3"),
    "rnn": ("nn.RNN(3, 4)", "2, 1, 3"),
    "lstm": ("nn.LSTM(3, 4)", "2, 1, 3"),
    "gru": ("nn.GRU(3, 4)", "2, 1, 3"),
    "lstm-cell": ("nn.LSTMCell(3, 4)", "1, 3"),
    "attention": ("nn.TransformerEncoderLayer(4, 2, batch_first=True, dropout=0.0)", "1, 2, 4"),
}
CHECKED = {"linear"}
PARAMETERS = raises(
    "RuntimeError",
    "Input and parameter tensors are not at the same device, found input tensor at cpu and parameter tensor at cuda:0",
    source="issue 43754; aten/src/ATen/native/RNN.h, check_attributes",
)


def _layers() -> tuple[Case, ...]:
    cases = []
    for name, (layer, size) in LAYERS.items():
        first = "out[0] if isinstance(out, tuple) else out"
        body = f"m = {layer}.to(first);;out = m(torch.ones({size}, device=first));;seen['r'] = {first}"
        cases.append(case(f"modules/{name}/same", body, on("cuda:0", MODULE)))
        body = f"m = {layer}.to(first);;m(torch.ones({size}))"
        cases.append(case(f"modules/{name}/input-cpu", body, mixed() if name in CHECKED else PARAMETERS if name in {"rnn", "lstm", "gru"} else None))
        body = f"m = {layer};;m(torch.ones({size}, device=first))"
        cases.append(case(f"modules/{name}/module-cpu", body, mixed() if name in CHECKED else None))
    return tuple(cases)


HIDDEN = raises(
    "RuntimeError",
    "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
    source=RNN,
)
RECURRENT = rows(
    "modules",
    (
        ("rnn/hidden-cpu", "nn.RNN(3, 4).to(first)(x, h)", HIDDEN),
        ("lstm/hidden-cpu", "nn.LSTM(3, 4).to(first)(x, (h, h))", HIDDEN),
        ("gru/hidden-cpu", "nn.GRU(3, 4).to(first)(x, h)", HIDDEN),
        ("lstm/cell-state-cpu", "nn.LSTM(3, 4).to(first)(x, (h.to(first), h))"),
        ("rnn/hidden-cuda", "o, k = nn.RNN(3, 4).to(first)(x, h.to(first));;seen['r'] = o;;seen['k'] = k", ok(RNN, r="cuda:0", k="cuda:0")),
        ("lstm/hidden-carried-over", "m = nn.LSTM(3, 4).to(first);;o, s = m(x);;o, s = m(x, s);;seen['r'] = s[1]", on("cuda:0", RNN)),
        ("rnn-cell/hidden-cpu", "nn.RNNCell(3, 4).to(first)(x[0], h[0])"),
        ("gru-cell/hidden-cpu", "nn.GRUCell(3, 4).to(first)(x[0], h[0])"),
        ("lstm-cell/hidden-cpu", "nn.LSTMCell(3, 4).to(first)(x[0], (h[0], h[0]))"),
        ("rnn/hidden-cpu-input-cpu-weights-cuda", "nn.RNN(3, 4).to(first)(x.cpu(), h)"),
        ("rnn/hidden-in-eval", "nn.RNN(3, 4).to(first).eval()(x, h)", HIDDEN),
        ("lstm/flatten-parameters", "m = nn.LSTM(3, 4).to(first);;m.flatten_parameters();;seen['r'] = m.weight_ih_l0", on("cuda:0", MODULE)),
        ("lstm/backward", "m = nn.LSTM(3, 4).to(first);;m(x)[0].sum().backward();;seen['r'] = m.weight_hh_l0.grad", on("cuda:0", MODULE)),
        ("lstm/bidirectional-projection", "o, s = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2).to(first)(x);;seen['r'] = o;;seen['c'] = s[1]", ok(MODULE, r="cuda:0", c="cuda:0")),
        ("rnn/first-hidden-then-linear", "class R(nn.Module):;;    def __init__(self):;;        super().__init__();;        self.i2h = nn.Linear(7, 4);;    def forward(self, a, b):;;        return self.i2h(torch.cat([a, b], 1));;R().to(first)(x[0], torch.zeros(1, 4))", mixed()),
    ),
    setup="x = torch.ones(2, 1, 3, device=first);;h = torch.zeros(1, 1, 4)",
)

EMBEDDINGS = rows(
    "modules",
    (
        ("embedding/input-cpu", "nn.Embedding(5, 2).to(first)(torch.tensor([1]))", mixed()),
        ("embedding/module-cpu", "nn.Embedding(5, 2)(torch.tensor([1], device=first))", mixed()),
        ("embedding/same", "seen['r'] = nn.Embedding(5, 2).to(first)(torch.tensor([1], device=first))", on("cuda:0", WRAPPER)),
        ("embedding/max-norm-input-cpu", "nn.Embedding(5, 2, max_norm=1.0).to(first)(torch.tensor([1]))"),
        ("embedding/from-pretrained", "seen['r'] = nn.Embedding.from_pretrained(torch.ones(3, 2, device=first)).weight", on("cuda:0", "docs: nn.Embedding.from_pretrained")),
        ("embedding-bag/same", "seen['r'] = nn.EmbeddingBag(5, 2).to(first)(torch.tensor([[1, 2]], device=first))", on("cuda:0", WRAPPER)),
        ("embedding-bag/input-cpu", "nn.EmbeddingBag(5, 2).to(first)(torch.tensor([[1, 2]]))"),
        ("multihead/same", "o, w = a(q, q, q);;seen['r'] = o;;seen['w'] = w", ok(MODULE, r="cuda:0", w="cuda:0")),
        ("multihead/add-zero-attn", "m = nn.MultiheadAttention(4, 2, add_zero_attn=True).to(first);;seen['r'] = m(q, q, q)[0]", on("cuda:0", "torch/nn/functional.py, multi_head_attention_forward (zeros on k.device)")),
        ("multihead/add-bias-kv", "m = nn.MultiheadAttention(4, 2, add_bias_kv=True).to(first);;seen['r'] = m(q, q, q)[0]", on("cuda:0", MODULE)),
        ("multihead/mask-cpu", "a(q, q, q, attn_mask=torch.zeros(2, 2))"),
        ("multihead/bool-mask-cpu", "a(q, q, q, attn_mask=torch.zeros(2, 2, dtype=torch.bool))"),
        ("multihead/key-padding-mask-cpu", "a(q, q, q, key_padding_mask=torch.zeros(1, 2, dtype=torch.bool))"),
        ("multihead/key-cpu", "a(q, q.cpu(), q.cpu())"),
        ("multihead/eval-fast-path", "a.eval();;with torch.no_grad():;;    seen['r'] = a(q, q, q)[0]", on("cuda:0", MODULE)),
        ("encoder-layer/mask-cpu", "nn.TransformerEncoderLayer(4, 2).to(first)(q, src_mask=torch.zeros(2, 2))"),
        ("encoder-layer/eval", "m = nn.TransformerEncoderLayer(4, 2, batch_first=True).to(first).eval();;with torch.no_grad():;;    seen['r'] = m(q)", on("cuda:0", MODULE)),
        ("encoder-layer/eval-mask-cpu", "m = nn.TransformerEncoderLayer(4, 2, batch_first=True).to(first).eval();;with torch.no_grad():;;    m(q, src_key_padding_mask=torch.zeros(2, 1, dtype=torch.bool))"),
        ("transformer/square-mask", "seen['r'] = nn.Transformer.generate_square_subsequent_mask(2);;seen['d'] = nn.Transformer.generate_square_subsequent_mask(2, device=first)", ok("torch/nn/modules/transformer.py, generate_square_subsequent_mask", r="cpu", d="cuda:0")),
        ("transformer/decoder", "m = nn.TransformerDecoderLayer(4, 2).to(first);;seen['r'] = m(q, q)", on("cuda:0", MODULE)),
        ("positional-encoding/plain-attribute", "class P(nn.Module):;;    def __init__(self):;;        super().__init__();;        self.pe = torch.ones(2, 1, 4);;    def forward(self, x):;;        return x + self.pe;;P().to(first)(q)", mixed(ITERATOR)),
        ("positional-encoding/buffer", "class P(nn.Module):;;    def __init__(self):;;        super().__init__();;        self.register_buffer('pe', torch.ones(2, 1, 4));;    def forward(self, x):;;        return x + self.pe;;seen['r'] = P().to(first)(q)", on("cuda:0", MODULE)),
        ("batch-norm/running-mean", "m = nn.BatchNorm1d(4).to(first);;m(torch.ones(3, 4, device=first));;seen['r'] = [m.running_mean, m.num_batches_tracked]", None),
        ("spectral-norm", "m = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)).to(first);;seen['r'] = m(q)", on("cuda:0", MODULE)),
        ("weight-norm", "m = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)).to(first);;seen['r'] = m(q)", on("cuda:0", MODULE)),
        ("lazy-linear/where-it-is", "m = nn.LazyLinear(2).to(first).to(first).cuda();;seen['w'] = str(m.weight.device);;seen['r'] = str(m.cpu().to('cpu').weight.device)", ok("torch/nn/parameter.py, UninitializedTensorMixin._allowed_methods", w="cuda:0", r="cpu")),
        ("lazy-linear", "m = nn.LazyLinear(2).to(first);;m(q);;seen['r'] = m.weight", on("cuda:0", "torch/nn/modules/lazy.py, LazyModuleMixin")),
        ("sequential/split-devices", "m = nn.Sequential(nn.Linear(4, 4).to(first), nn.Linear(4, 4));;m(q)", mixed()),
        ("interpolate", "seen['r'] = F.interpolate(q[None], scale_factor=2)", on("cuda:0", WRAPPER)),
        ("grid-sample/grid-cpu", "F.grid_sample(torch.ones(1, 1, 2, 2, device=first), torch.zeros(1, 2, 2, 2))"),
        ("max-pool", "o, i = F.max_pool1d(q, 2, return_indices=True);;seen['r'] = o;;seen['i'] = i", ok(WRAPPER, r="cuda:0", i="cuda:0")),
        ("gumbel-softmax", "seen['r'] = F.gumbel_softmax(q)", on("cuda:0", "torch/nn/functional.py, gumbel_softmax (empty_like)")),
        ("dropout-module", "seen['r'] = nn.Dropout(0.5)(q)", on("cuda:0", WRAPPER)),
    ),
    setup="q = torch.ones(2, 1, 4, device=first);;a = nn.MultiheadAttention(4, 2).to(first)",
)

LOSSES = rows(
    "losses",
    (
        ("cross-entropy/same", "seen['r'] = F.cross_entropy(x, t)", on("cuda:0", WRAPPER)),
        ("cross-entropy/target-cpu", "F.cross_entropy(x, t.cpu())", mixed()),
        ("cross-entropy/input-cpu", "F.cross_entropy(x.cpu(), t)", mixed()),
        ("cross-entropy/weight-cpu", "nn.CrossEntropyLoss(weight=torch.ones(3))(x, t)", mixed()),
        ("cross-entropy/weight-moved", "seen['r'] = nn.CrossEntropyLoss(weight=torch.ones(3)).to(first)(x, t)", on("cuda:0", MODULE)),
        ("cross-entropy/weight-attribute-of-model", "m = nn.Module();;m.c = nn.CrossEntropyLoss(weight=torch.ones(3));;m.to(first);;seen['r'] = m.c(x, t)", on("cuda:0", MODULE)),
        ("cross-entropy/label-smoothing", "seen['r'] = F.cross_entropy(x, t, label_smoothing=0.1)", on("cuda:0", WRAPPER)),
        ("cross-entropy/probabilities-cpu", "F.cross_entropy(x, torch.ones(2, 3) / 3)", mixed(ITERATOR)),
        ("cross-entropy/ignore-index", "seen['r'] = F.cross_entropy(x, t, ignore_index=0)", on("cuda:0", WRAPPER)),
        ("nll/target-cpu", "F.nll_loss(x.log_softmax(1), t.cpu())", mixed()),
        ("nll/weight-cpu", "F.nll_loss(x.log_softmax(1), t, weight=torch.ones(3))", mixed()),
        ("nll2d/target-cpu", "F.nll_loss(torch.zeros(1, 3, 2, 2, device=first), torch.zeros(1, 2, 2, dtype=torch.long))"),
        ("mse/target-cpu", "F.mse_loss(x, x.cpu())", mixed(ITERATOR)),
        ("mse/input-cpu", "F.mse_loss(x.cpu(), x)", mixed(ITERATOR)),
        ("mse/no-reduction", "F.mse_loss(x, x.cpu(), reduction='none')", mixed(ITERATOR)),
        ("l1/target-cpu", "F.l1_loss(x, x.cpu())", mixed(ITERATOR)),
        ("smooth-l1/target-cpu", "F.smooth_l1_loss(x, x.cpu())", mixed(ITERATOR)),
        ("huber/target-cpu", "F.huber_loss(x, x.cpu())", mixed(ITERATOR)),
        ("bce/target-cpu", "F.binary_cross_entropy(x.sigmoid(), x.cpu())"),
        ("bce/weight-cpu", "F.binary_cross_entropy(x.sigmoid(), x.sigmoid(), weight=torch.ones(2, 3))"),
        ("bce-logits/target-cpu", "F.binary_cross_entropy_with_logits(x, x.cpu())", mixed(ITERATOR)),
        ("bce-logits/pos-weight-cpu", "nn.BCEWithLogitsLoss(pos_weight=torch.ones(3))(x, x)", mixed(ITERATOR)),
        ("bce-logits/pos-weight-cpu0dim", "seen['r'] = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))(x, x)", on("cuda:0", ZERO_DIM)),
        ("bce-logits/weight-cpu", "F.binary_cross_entropy_with_logits(x, x, weight=torch.ones(3))", mixed(ITERATOR)),
        ("kl-div/target-cpu", "F.kl_div(x, x.cpu())", mixed(ITERATOR)),
        ("cosine-embedding/target-cpu", "F.cosine_embedding_loss(x, x, torch.ones(2))"),
        ("triplet/negative-cpu", "F.triplet_margin_loss(x, x, x.cpu())", mixed(ITERATOR)),
        ("margin-ranking/target-cpu", "F.margin_ranking_loss(x, x, torch.ones(2, 3))", mixed(ITERATOR)),
        ("multi-margin/target-cpu", "F.multi_margin_loss(x, t.cpu())"),
        ("poisson-nll/target-cpu", "F.poisson_nll_loss(x, x.cpu())", mixed(ITERATOR)),
        ("gaussian-nll/var-cpu", "F.gaussian_nll_loss(x, x, torch.ones(2, 3))", mixed(ITERATOR)),
        ("ctc/targets-cpu", "F.ctc_loss(torch.zeros(4, 1, 3, device=first).log_softmax(2), torch.tensor([[1, 2]]), (4,), (2,))"),
        ("ctc/lengths-cpu", "seen['r'] = F.ctc_loss(torch.zeros(4, 1, 3, device=first).log_softmax(2), torch.tensor([[1, 2]], device=first), torch.tensor([4]), torch.tensor([2]))"),
        ("ctc/lengths-cuda", "seen['r'] = F.ctc_loss(torch.zeros(4, 1, 3, device=first).log_softmax(2), torch.tensor([[1, 2]], device=first), torch.tensor([4], device=first), torch.tensor([2], device=first))"),
        ("adaptive-softmax/target-cpu", "nn.AdaptiveLogSoftmaxWithLoss(3, 4, [2]).to(first)(x, t.cpu())"),
        ("total-plus-python-list", "losses = [F.mse_loss(x, x), F.l1_loss(x, x)];;seen['r'] = sum(losses);;seen['s'] = torch.stack(losses).mean()", ok(ITERATOR, r="cuda:0", s="cuda:0")),
    ),
    setup="x = torch.zeros(2, 3, device=first);;t = torch.tensor([0, 1], device=first)",
)

_STEP = "def step():;;    m(torch.ones(1, 2, device=m.weight.device)).sum().backward();;    o.step();;    o.zero_grad()"


def _optimizers() -> tuple[Case, ...]:
    cases = []
    for name in ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "NAdam", "Rprop"):
        options = "lr=0.1, momentum=0.9" if name == "SGD" else "lr=0.1"
        body = f"m = nn.Linear(2, 1);;o = torch.optim.{name}(m.parameters(), {options});;{_STEP}"
        key = "{'momentum_buffer', 'exp_avg', 'sum', 'square_avg', 'prev'}"
        state = f"seen['r'] = [str(v.device) for k, v in o.state[m.weight].items() if k in {key}]"
        # Adagrad makes its state in its constructor; which text its mixture has is not stated anywhere.
        expects = None if name == "Adagrad" else ok(MODULE, r=["cuda:0"])
        cases.append(case(f"optimizers/{name.lower()}/built-before-move", f"{body};;m.to(first);;step();;{state}", expects))
        cases.append(case(f"optimizers/{name.lower()}/moved-after-a-step", f"{body};;step();;m.to(first);;step();;{state}"))
        if name in {"SGD", "Adam", "Adagrad"}:
            load = "o.load_state_dict(o.state_dict())"
            cases.append(case(f"optimizers/{name.lower()}/load-before-move", f"{body};;step();;{load};;m.to(first);;step()"))
            other = "m = nn.Linear(2, 1).to(first);;" + f"o = torch.optim.{name}(m.parameters(), {options})"
            after = f"{body};;step();;s = o.state_dict();;{other};;o.load_state_dict(s);;step();;{state}"
            cases.append(case(f"optimizers/{name.lower()}/load-cpu-state-into-cuda", after, ok(OPTIMIZER, r=["cuda:0"])))
    return tuple(cases)


OPTIMIZERS = rows(
    "optimizers",
    (
        ("adam/step-is-on-cpu", "o = torch.optim.Adam(m.parameters());;step();;seen['r'] = o.state[m.weight]['step']", on("cpu", "torch/optim/adam.py, Adam._init_group (step on the CPU unless capturable or fused)")),
        ("adam/capturable-step-is-on-cuda", "o = torch.optim.Adam(m.parameters(), capturable=True);;step();;seen['r'] = o.state[m.weight]['step']", on("cuda:0", "torch/optim/adam.py, Adam._init_group")),
        ("adam/fused-step-is-on-cuda", "o = torch.optim.Adam(m.parameters(), fused=True);;step();;seen['r'] = o.state[m.weight]['step']", on("cuda:0", "torch/optim/adam.py, Adam._init_group")),
        ("adam/foreach", "o = torch.optim.Adam(m.parameters(), foreach=True);;step();;seen['r'] = o.state[m.weight]['exp_avg']", on("cuda:0", "torch/optim/adam.py, Adam._init_group")),
        ("adam/foreach-false", "o = torch.optim.Adam(m.parameters(), foreach=False);;step();;seen['r'] = o.state[m.weight]['exp_avg']", on("cuda:0", "torch/optim/adam.py, Adam._init_group")),
        ("adam/tensor-lr-cpu", "o = torch.optim.Adam(m.parameters(), lr=torch.tensor(0.1));;step();;seen['r'] = o.state[m.weight]['exp_avg']"),
        ("adam/tensor-lr-cuda", "o = torch.optim.Adam(m.parameters(), lr=torch.tensor(0.1, device=first));;step();;seen['r'] = o.param_groups[0]['lr']"),
        ("adam/tensor-lr-foreach-cpu", "o = torch.optim.Adam(m.parameters(), lr=torch.tensor(0.1), foreach=True);;step()"),
        ("adam/load-keeps-step-on-cpu", "o = torch.optim.Adam(m.parameters());;step();;o.load_state_dict(o.state_dict());;seen['r'] = o.state[m.weight]['step']", on("cpu", OPTIMIZER)),
        ("adam/parameters-on-both", "n = nn.Linear(2, 1);;o = torch.optim.Adam([*m.parameters(), *n.parameters()]);;step();;seen['r'] = o.state[m.weight]['exp_avg']", on("cuda:0", "torch/optim/optimizer.py, Optimizer._group_tensors_by_device_and_dtype")),
        ("sgd/grad-stays-when-only-data-moves", "n = nn.Linear(2, 1);;n(torch.ones(1, 2)).sum().backward();;n.weight.data = n.weight.data.to(first);;seen['r'] = n.weight.grad;;torch.optim.SGD(n.parameters(), lr=0.1).step()"),
        ("nonleaf", "torch.optim.SGD([torch.ones(2, requires_grad=True).to(first)], lr=0.1)", raises("ValueError", "can't optimize a non-leaf Tensor", source="torch/optim/optimizer.py, Optimizer.add_param_group")),
        ("lbfgs", "o = torch.optim.LBFGS(m.parameters());;def c():;;    o.zero_grad();;    l = m(torch.ones(1, 2, device=first)).sum().pow(2);;    l.backward();;    return l;;seen['r'] = o.step(c)", on("cuda:0", "torch/optim/lbfgs.py")),
        ("sparse-adam", "e = nn.Embedding(4, 2, sparse=True).to(first);;o = torch.optim.SparseAdam(e.parameters());;e(torch.tensor([1], device=first)).sum().backward();;o.step();;seen['r'] = [str(e.weight.grad.device), e.weight.grad.is_sparse]", ok("torch/optim/sparse_adam.py", r=["cuda:0", True])),
        ("fused-on-cpu-parameters", "n = nn.Linear(2, 1);;o = torch.optim.AdamW(n.parameters(), fused=True);;n(torch.ones(1, 2)).sum().backward();;o.step();;seen['r'] = o.state[n.weight]['step']"),
        ("scheduler", "o = torch.optim.SGD(m.parameters(), lr=0.1);;s = torch.optim.lr_scheduler.StepLR(o, 1, 0.5);;step();;s.step();;seen['r'] = o.param_groups[0]['lr']", ok("docs: torch.optim.lr_scheduler.StepLR", r=0.05)),
        ("averaged-model", "a = torch.optim.swa_utils.AveragedModel(m);;a.update_parameters(m);;seen['r'] = [str(a.module.weight.device), str(a.n_averaged.device)]"),
        ("averaged-model/of-cpu-copy", "a = torch.optim.swa_utils.AveragedModel(m, device='cpu');;a.update_parameters(m);;a.update_parameters(m);;seen['r'] = a.module.weight", on("cpu", "docs: torch.optim.swa_utils.AveragedModel (device)")),
    ),
    setup=f"m = nn.Linear(2, 1).to(first);;{_STEP}",
)

CASES = (*_layers(), *RECURRENT, *EMBEDDINGS, *LOSSES, *_optimizers(), *OPTIMIZERS)
