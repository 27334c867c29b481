# kind: combine-losses
# cause: shared-forward
# carrier: z
import torch
from torch import nn

torch.manual_seed(12)
trunk, a, b, c = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 1), nn.Linear(6, 1)
opt = torch.optim.SGD([p for m in (trunk, a, b, c) for p in m.parameters()], lr=0.05)
log = []
for _ in range(5):
    x = torch.randn(8, 4)
    z = torch.tanh(trunk(x))  #@built
    opt.zero_grad()
    loss_a = a(z).square().mean()
    loss_a.backward()  #- @freed
    log.append(loss_a.item())
    loss_b = 0.5 * (b(z) - 1).abs().mean()
    loss_b.backward()  #- @failed
    (loss_a + loss_b).backward()  #+
    opt.step()
print("RESULT", log[-1], trunk.weight.sum().item())
