# kind: combine-losses
# cause: shared-forward
# carrier: feat
import torch
from torch import nn

torch.manual_seed(13)
trunk, heads = nn.Linear(4, 6), nn.ModuleList(nn.Linear(6, 1) for _ in range(3))
opt = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.05)
for _ in range(5):
    feat = torch.tanh(trunk(torch.randn(8, 4)))  #@built
    opt.zero_grad()
    combined = 0  #+
    for i, head in enumerate(heads):
        loss = (head(feat) - i).square().mean()
        (loss / len(heads)).backward()  #- @failed @freed
        combined = combined + (loss / len(heads))  #+
    combined.backward()  #+
    opt.step()
print("RESULT", loss.item(), trunk.weight.sum().item())
