# unreached-parameter: critic; keep-history
import torch, torch.nn as nn
torch.manual_seed(0)
actor, critic = nn.Linear(3, 1), nn.Linear(3, 1)
first, second = torch.optim.SGD(actor.parameters(), .1), torch.optim.SGD(critic.parameters(), .1)
for it in range(6):
    s = torch.randn(8, 3)
    reward = s.sum(1, keepdim=True)
    value = critic(s)
    gain = -(actor(s) * (reward - value.detach())).mean()
    value_loss = (value - reward).pow(2).mean()  #! built
    first.zero_grad()
    second.zero_grad()
    gain.backward()  #! failed
    first.step()
    second.step()
