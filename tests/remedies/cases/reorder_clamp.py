# kind: reorder
# cause: step-between
# carrier: loss
import torch
from torch import nn

torch.manual_seed(15)
critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.RMSprop(critic.parameters(), lr=0.01)
for _ in range(5):
    loss = critic(torch.randn(8, 2)).mean() - critic(torch.randn(8, 2) + 1).mean()  #@built
    with torch.no_grad():  #-
        for p in critic.parameters():  #-
            p.clamp_(-0.1, 0.1)  #- @freed
    opt.zero_grad()
    loss.backward()  #@failed
    opt.step()
    with torch.no_grad():  #+
        for p in critic.parameters():  #+
            p.clamp_(-0.1, 0.1)  #+
print("RESULT", loss.item(), critic[0].weight.sum().item())
