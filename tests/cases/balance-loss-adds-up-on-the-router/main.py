import torch
from torch import nn

from moe import MoELayer


class Regressor(nn.Module):
    def __init__(self, width=12, experts=4, depth=2):
        super().__init__()
        self.inp = nn.Linear(5, width)
        self.layers = nn.ModuleList(MoELayer(width, experts) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for layer in self.layers:
            x = x + layer(x)
        return self.out(x).squeeze(-1)


def balance(model):
    return sum(m.aux_loss for m in model.modules() if isinstance(m, MoELayer))


def main():
    torch.manual_seed(95)
    model = Regressor()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(60):
        x = torch.randn(48, 5)
        y = x[:, 0].abs() - x[:, 1]
        task = nn.functional.mse_loss(model(x), y)
        loss = task + 0.01 * balance(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {task.item():.5f}")


main()
