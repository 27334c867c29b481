# Attention weights with the padded positions set to zero.
import torch
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x, lengths):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / x.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        for row, length in enumerate(lengths):
            weights[row, :, length:] = 0.0
        return weights @ self.value(x)


attention = Attention(16)
head = nn.Linear(16, 1)
optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=1e-3)

for step in range(20):
    x = torch.randn(8, 10, 16)
    lengths = torch.randint(3, 11, (8,)).tolist()
    target = torch.stack([row[:n].mean() for row, n in zip(x, lengths)])
    pooled = attention(x, lengths).mean(dim=1)
    loss = nn.functional.mse_loss(head(pooled).squeeze(1), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step:2d}  loss {loss.item():.4f}")
