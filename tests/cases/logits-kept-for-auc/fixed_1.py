import torch
from torch import nn


class RankMetric:
    def __init__(self):
        self.scores, self.labels = [], []

    def update(self, scores, labels):
        self.scores.append(scores.detach())
        self.labels.append(labels)

    def compute(self):
        s, l = torch.cat(self.scores), torch.cat(self.labels)
        pos, neg = s[l == 1], s[l == 0]
        return (pos[:, None] > neg[None]).float().mean()


def main():
    torch.manual_seed(90)
    x = torch.randn(1200, 20)
    y = (x[:, :4].sum(1) + 0.5 * torch.randn(1200) > 0).float()
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    metric = RankMetric()
    for epoch in range(2):
        for i in range(0, 1200, 24):
            scores = model(x[i:i + 24])
            loss = nn.functional.binary_cross_entropy_with_logits(scores, y[i:i + 24])
            opt.zero_grad()
            loss.backward()
            opt.step()
            metric.update(scores, y[i:i + 24])
        print(f"epoch {epoch}: auc {metric.compute().item():.4f}")
    print(f"RESULT {metric.compute().item():.6g} {loss.item():.6g}")


if __name__ == "__main__":
    main()
