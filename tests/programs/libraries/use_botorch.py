"""botorch: two rounds of Bayesian optimisation: fit a model, optimise an acquisition function, evaluate."""

# library: botorch
import torch
from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
options = {"device": device, "dtype": torch.double}
bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], **options)


def objective(x: torch.Tensor) -> torch.Tensor:
    return -(x - 0.3).pow(2).sum(dim=-1, keepdim=True)


x = torch.rand(6, 2, **options)
y = objective(x)
started = best = y.max().item()
for several in (False, True):
    model = SingleTaskGP(x, y, input_transform=Normalize(2), outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    if several:
        sampler = SobolQMCNormalSampler(sample_shape=torch.Size([32]), seed=0)
        acquisition = qLogExpectedImprovement(model, best_f=y.max(), sampler=sampler)
    else:
        acquisition = LogExpectedImprovement(model, best_f=y.max())
    candidates, value = optimize_acqf(acquisition, bounds, q=1 + several, num_restarts=2, raw_samples=16)
    assert candidates.device.type == value.device.type == device.type
    x, y = torch.cat([x, candidates]), torch.cat([y, objective(candidates)])
    best = y.max().item()
assert next(model.parameters()).device.type == device.type
posterior = model.posterior(bounds)
assert posterior.mean.device.type == posterior.variance.device.type == device.type
assert best > started, (started, best)
print(f"botorch on {device}: best value {started:.4f} -> {best:.4f}")
