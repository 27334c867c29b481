import torch
from torch import nn


class FairClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
        self.raw = nn.Parameter(torch.tensor(-2.0))

    @property
    def multiplier(self):
        return nn.functional.softplus(self.raw)


torch.manual_seed(77)
model = FairClassifier()
descend = torch.optim.Adam(model.net.parameters(), lr=5e-3)
ascend = torch.optim.SGD([model.raw], lr=0.5, maximize=True)
gaps, best = [], None
for step in range(80):
    x = torch.randn(64, 6)
    y, group = (x[:, 0] > 0).float(), x[:, 1] > 0
    p = torch.sigmoid(model.net(x).squeeze(-1))
    gap = (p[group].mean() - p[~group].mean()).abs() - 0.05
    loss = nn.functional.binary_cross_entropy(p, y)
    descend.zero_grad()
    (loss + model.multiplier.detach() * gap).backward()
    descend.step()
    if step % 2:
        ascend.zero_grad()
        (model.multiplier * gap.detach()).backward()
        ascend.step()
    gaps.append(gap.item())
    if best is None or loss.item() < best[0]:
        best = (loss.item(), {k: v.detach().clone() for k, v in model.state_dict().items()})
print(f"RESULT {gaps[-1]:.5f} {best[0]:.5f} {model.multiplier.item():.5f}")
