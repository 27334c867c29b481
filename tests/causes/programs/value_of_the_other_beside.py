# crossed-networks: value gain; detach
import torch
from torch import nn
torch.manual_seed(0)
actor, critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
acts, judges = torch.optim.SGD(actor.parameters(), 0.1), torch.optim.SGD(critic.parameters(), 0.1)
for step in range(4):
    x, paid = torch.randn(6, 4), torch.randn(6, 1)
    value = critic(x)  #! built
    gain = paid - value  #! built
    missed = gain.pow(2).mean()
    chosen = -(actor(x) * gain).mean()
    acts.zero_grad()
    judges.zero_grad()
    missed.backward()  #! freed
    chosen.backward()  #! failed
    acts.step()
    judges.step()
print("RESULT", missed.item())
