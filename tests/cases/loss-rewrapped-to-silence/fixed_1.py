import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def ranking_loss(scores, relevance):
    better = relevance[:, None] > relevance[None]
    margin = (scores[:, None] - scores[None])[better]
    loss = torch.nn.functional.softplus(-margin).mean()
    return loss


def main():
    torch.manual_seed(81)
    model = Scorer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.randn(120, 6)
    relevance = (x[:, 0] * 2).round()
    for epoch in range(5):
        for xb, rb in zip(x.split(24), relevance.split(24)):
            loss = ranking_loss(model(xb), rb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, round(loss.item(), 4))
    print("RESULT", f"{loss.item():.6g}", f"{model.net[0].weight.abs().sum().item():.6g}")


main()
