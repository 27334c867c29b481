import torch
from torch import nn

torch.manual_seed(130)
policy, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=5e-3)
baseline = torch.zeros(())
for it in range(25):
    obs = torch.randn(20, 4)
    logp = policy(obs).log_softmax(1)
    action = torch.multinomial(logp.detach().exp(), 1)
    reward = obs.gather(1, action)
    value = critic(obs)
    advantage = (reward - value.detach()).squeeze(1) - baseline
    chosen = logp.gather(1, action).squeeze(1)
    loss = -(chosen * advantage).mean() + (value - reward).pow(2).mean() + 0.1 * (value.mean() - baseline) ** 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.8 * baseline + 0.2 * value.mean().detach()
print(f"RESULT {loss.item():.6g} {float(baseline):.6g}")
