import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
        self.neck = nn.utils.parametrizations.weight_norm(nn.Linear(24, 16))
        self.head = nn.Linear(16, 2)
        self.aux = nn.Linear(24, 2)

    def forward(self, x):
        h = self.backbone(x)
        return self.head(torch.relu(self.neck(h))), self.aux(h.detach())


torch.manual_seed(8)
net = Net()
net.backbone.requires_grad_(False)
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
best, patience, kept = 1e9, 0, None
for step in range(320):
    if step == 150:
        net.backbone.requires_grad_(True)
    x = torch.randn(16, 8)
    y = (x[:, 0] * x[:, 1] > 0).long()
    main, aux = net(x)
    loss = F.cross_entropy(main, y)
    if step > 200:
        loss = loss + 0.1 * F.cross_entropy(aux, y)
    if not torch.isfinite(loss):
        continue
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if loss.item() < best:
        best, patience, kept = loss.item(), 0, {k: v.detach().clone() for k, v in net.state_dict().items()}
    else:
        patience += 1
print(f"RESULT {best:.6g} {patience}")
