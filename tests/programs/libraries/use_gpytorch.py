"""gpytorch: an exact Gaussian process and a variational one, fitted and asked for predictions."""

# library: gpytorch
import gpytorch
import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.linspace(0, 1, 40)
y = torch.sin(x * 6) + 0.1 * torch.randn(40)


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x: torch.Tensor, y: torch.Tensor, likelihood: gpytorch.likelihoods.Likelihood) -> None:
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, inducing: torch.Tensor) -> None:
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, distribution))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

    forward = Exact.forward


def fit(model, likelihood, objective, x: torch.Tensor, y: torch.Tensor, steps: int) -> list[float]:
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam({*model.parameters(), *likelihood.parameters()}, lr=0.1)
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    model.eval()
    likelihood.eval()
    return history


x, y = x.to(device), y.to(device)
likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
exact = Exact(x, y, likelihood).to(device)
first = fit(exact, likelihood, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, exact), x, y, 25)
noise = gpytorch.likelihoods.GaussianLikelihood().to(device)
variational = Variational(x[::5].clone()).to(device)
second = fit(variational, noise, gpytorch.mlls.VariationalELBO(noise, variational, num_data=len(y)), x, y, 25)

grid = torch.linspace(0, 1, 11, device=device)
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    prediction = likelihood(exact(grid))
    lower, upper = prediction.confidence_region()
    draw = exact(grid).rsample(torch.Size([3]))
    also = noise(variational(grid)).mean
assert prediction.mean.device.type == lower.device.type == draw.device.type == also.device.type == device.type
assert bool((lower < upper).all())
assert (prediction.mean - torch.sin(grid * 6)).abs().max().item() < 0.3
assert next(exact.parameters()).device.type == device.type
assert first[-1] < first[0], first
assert second[-1] < second[0], second
print(f"gpytorch on {device}: loss {first[0]:.3f} -> {first[-1]:.3f}, {second[0]:.3f} -> {second[-1]:.3f}")
