from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Output:
    i2t: torch.Tensor
    t2i: torch.Tensor


class DualEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.Linear(32, 16))
        self.text = nn.Sequential(nn.EmbeddingBag(40, 16), nn.Linear(16, 16))
        self.temperature = nn.Parameter(torch.tensor(2.0))

    def forward(self, pixels, tokens):
        a = F.normalize(self.image(pixels), dim=-1)
        b = F.normalize(self.text(tokens), dim=-1)
        logits = self.temperature.exp() * a @ b.T
        goal = torch.arange(len(pixels))
        return Output(F.cross_entropy(logits, goal), F.cross_entropy(logits.T, goal))


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=128.0)

    def step(self, pixels, tokens):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", enabled=False):
            out = self.model(pixels, tokens)
        for loss in (out.i2t, out.t2i):
            self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return (out.i2t + out.t2i).item() / 2


torch.manual_seed(44)
table = torch.randn(40, 20)
trainer = Trainer(DualEncoder(), lr=3e-3)
for step in range(60):
    tokens = torch.randint(0, 40, (24, 3))
    last = trainer.step(table[tokens].mean(1), tokens)
print(f"RESULT {last:.5f}")
