"""accelerate: `prepare` moves the model and the batches; gradients are accumulated, states saved and loaded."""

# library: accelerate
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=2)
device = accelerator.device
assert device.type == ("cuda" if torch.cuda.is_available() else "cpu")
x = torch.randn(96, 5)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)

history = []
for _ in range(10):
    for one, two in loader:
        assert one.device.type == device.type  # not equal: the device of accelerate has no number
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(one), two)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        history.append(accelerator.gather_for_metrics(loss.detach()).mean().item())

with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    weight = accelerator.unwrap_model(model)[0].weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight.zero_()
    accelerator.load_state(folder)
assert torch.equal(weight, kept)
assert weight.device.type == device.type
assert history[-1] < history[0] / 2, (history[0], history[-1])
print(f"accelerate on {device}: loss {history[0]:.3f} -> {history[-1]:.3f}")
