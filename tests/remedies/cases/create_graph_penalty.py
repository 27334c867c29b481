# kind: create-graph
# cause: missing-create-graph
# carrier: grads
import torch
from torch import nn

torch.manual_seed(26)
critic = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 1))
opt = torch.optim.SGD(critic.parameters(), lr=0.05)
for i in range(5):
    x = torch.randn(8, 3, requires_grad=True)
    score = critic(x)
    grads = torch.autograd.grad(
        outputs=score.sum(), inputs=x,
        retain_graph=True,  #-
        retain_graph=True, create_graph=True,  #+
    )[0]  #@built
    loss = score.mean() + (grads.norm(2, dim=1) - 1).square().mean()
    opt.zero_grad()
    loss.backward()  #@failed
    opt.step()
print("RESULT", loss.item(), critic[0].weight.sum().item())
