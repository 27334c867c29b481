import torch
from torch import nn

from lora import LowRank, adapter_parameters


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = LowRank(nn.Linear(12, 12), rank=2)
        self.ff = LowRank(nn.Linear(12, 12), rank=2)
        self.classifier = nn.Linear(12, 4)

    def forward(self, x):
        x = x + torch.tanh(self.attn(x))
        return self.classifier(x + torch.relu(self.ff(x)))


torch.manual_seed(57)
model = Tagger()
optimizer = torch.optim.AdamW([
    {"params": adapter_parameters(model), "lr": 5e-3},
    {"params": model.classifier.parameters(), "lr": 1e-3},
])
for step in range(60):
    x = torch.randn(32, 12)
    loss = nn.functional.cross_entropy(model(x), (x @ x.new_ones(12, 4).cumsum(0).sin()).argmax(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(f"RESULT {loss.item():.5f} {model.attn.up.abs().sum().item():.5f}")
