import torch
from torch import nn

from accel import Accelerator


class Summarizer(nn.Module):
    def __init__(self, vocab=30, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.mix = nn.MultiheadAttention(width, 2, batch_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        y, _ = self.mix(x, x, x, need_weights=False)
        return self.out(x + y)


def train(accelerator, model, optimizer, batches):
    total = 0.0
    for ids in batches:
        with accelerator.accumulate(model):
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            accelerator.backward(loss)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item()
    return total / len(batches)


torch.manual_seed(92)
accelerator = Accelerator(accumulation=1)
model = Summarizer()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
model, optimizer = accelerator.prepare(model, optimizer)
batches = [torch.arange(30).roll(int(torch.randint(30, ()))).repeat(4, 1)[:, :12] for _ in range(20)]
print(f"RESULT {train(accelerator, model, optimizer, batches):.5f}")
