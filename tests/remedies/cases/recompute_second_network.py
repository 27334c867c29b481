# kind: recompute
# cause: step-between
# carrier: actor_loss
import torch
from torch import nn

torch.manual_seed(28)
actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
actor_opt = torch.optim.SGD(actor.parameters(), lr=0.05)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.05)
for _ in range(5):
    s, r = torch.randn(8, 3), torch.randn(8, 1)
    a = torch.tanh(actor(s))
    q = critic(torch.cat([s, a.detach()], 1))
    critic_loss = (q - r).square().mean()
    actor_loss = -critic(torch.cat([s, a], 1)).mean()  #- @built
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()  #@freed
    actor_opt.zero_grad()
    actor_loss = -critic(torch.cat([s, a], 1)).mean()  #+
    actor_loss.backward()  #@failed
    actor_opt.step()
print("RESULT", actor.weight.sum().item(), critic[0].weight.sum().item())
