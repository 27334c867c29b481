import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(144)
model = nn.Sequential(nn.Linear(7, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Dropout(0.1), nn.Linear(20, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
labelled, unlabelled = torch.randn(60, 7), torch.randn(240, 7)
target = labelled[:, :3].argmax(1)
seen = []
for step in range(24):
    i, j = torch.randint(60, (12,)), torch.randint(240, (36,))
    opt.zero_grad()
    sup = F.cross_entropy(model(labelled[i]), target[i])
    sup.backward()
    with torch.no_grad():
        conf, pseudo = model(unlabelled[j]).softmax(1).max(1)
    unsup = (F.cross_entropy(model(unlabelled[j] + 0.1 * torch.randn(36, 7)), pseudo, reduction="none") * (conf > 0.5)).mean()
    if step > 5:
        (0.5 * unsup).backward()
    opt.step()
    seen.append((sup.item(), unsup.item()))
print("RESULT", *(f"{v:.6g}" for v in seen[-1]))
