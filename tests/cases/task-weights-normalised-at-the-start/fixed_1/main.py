import torch
from torch import nn

from balance import TaskBalancer


class MultiTask(nn.Module):
    def __init__(self, tasks=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 20), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(20, 1) for _ in range(tasks))

    def forward(self, x):
        h = self.body(x)
        return [head(h).squeeze(-1) for head in self.heads]


def main():
    torch.manual_seed(88)
    model, balancer = MultiTask(), TaskBalancer(3)
    optimizer = torch.optim.Adam([*model.parameters(), balancer.logits], lr=5e-3)
    for epoch in range(4):
        for x in torch.randn(10, 32, 6):
            goals = (x[:, 0], x[:, 1].abs(), x[:, 2] * x[:, 3])
            losses = torch.stack([nn.functional.mse_loss(p, g) for p, g in zip(model(x), goals)])
            loss = balancer(losses)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"RESULT {loss.item():.5f}")


if __name__ == "__main__":
    main()
