"""transformers' Trainer on a tiny model from its configuration: it chooses the device, and wraps for several GPUs."""

# library: transformers
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Counting(Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        words = (torch.arange(8) + index) % 20
        return {"input_ids": words, "labels": words}


torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=20, n_embd=32, n_layer=1, n_head=2, n_positions=8))
with tempfile.TemporaryDirectory() as folder:
    settings = TrainingArguments(
        folder,
        num_train_epochs=8,
        per_device_train_batch_size=8,
        learning_rate=0.01,
        logging_steps=8,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        seed=0,
    )
    trainer = Trainer(model=model, args=settings, train_dataset=Counting(), eval_dataset=Counting())
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    after = trainer.evaluate()["eval_loss"]
expected = "cuda" if torch.cuda.is_available() else "cpu"
assert settings.n_gpu == torch.cuda.device_count()
assert settings.device.type == expected
assert next(model.parameters()).device.type == expected
assert after < before / 2, (before, after)
print(f"transformers Trainer on {settings.device}, {settings.n_gpu} GPUs: loss {before:.3f} -> {after:.3f}")
