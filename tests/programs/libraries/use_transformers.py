"""transformers: tiny BERT, GPT-2 and Llama models built from their configurations: a step, a text, a saved copy."""

# library: transformers
import tempfile

import torch
from transformers import (
    BatchEncoding,
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
words = torch.randint(3, 40, (6, 9))
seen = torch.ones_like(words)
seen[::2, 6:] = 0
batch = BatchEncoding({"input_ids": words, "attention_mask": seen})
batch.to(device)  # works in place
assert batch["input_ids"].device.type == device.type


def train(model: torch.nn.Module, labels: torch.Tensor, steps: int = 8) -> tuple[float, float]:
    model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(**batch, labels=labels).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert model.device.type == device.type
    assert losses[-1] < losses[0], losses
    return losses[0], losses[-1]


small = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
bert = BertForSequenceClassification(
    BertConfig(**small, intermediate_size=32, max_position_embeddings=16, num_labels=2)
)
print("bert", train(bert, torch.tensor([0, 1] * 3, device=device)))

gpt = GPT2LMHeadModel(GPT2Config(vocab_size=40, n_embd=32, n_layer=2, n_head=2, n_positions=32, eos_token_id=2))
llama = LlamaForCausalLM(
    LlamaConfig(**small, intermediate_size=32, num_key_value_heads=1, eos_token_id=2, pad_token_id=0)
)
for model in (gpt, llama):
    print(type(model).__name__, train(model, batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)))
    model.eval()
    prompt = batch["input_ids"][:2, :4]
    mask = torch.ones_like(prompt)
    for how in ({"do_sample": False}, {"do_sample": True, "top_k": 5}, {"num_beams": 2}):
        text = model.generate(prompt, attention_mask=mask, max_new_tokens=5, pad_token_id=0, **how)
        assert text.device.type == device.type
        assert torch.equal(text[:, :4], prompt)

with tempfile.TemporaryDirectory() as folder:
    llama.save_pretrained(folder)
    again = LlamaForCausalLM.from_pretrained(folder).to(device).eval()
with torch.no_grad():
    assert torch.allclose(again(**batch).logits, llama(**batch).logits, atol=1e-4)
print(f"transformers on {device}")
