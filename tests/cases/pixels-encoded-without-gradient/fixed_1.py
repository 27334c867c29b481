import torch
from torch import nn
from torch.nn import functional as F


class PixelEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU())
        self.out = nn.Linear(8 * 3 * 3, 16)

    def forward(self, pixels):
        return self.out(self.conv(pixels - 0.5).flatten(1))


class SkillAgent:
    """Unsupervised pre-training: tells skills apart by the change of the encoded observation."""

    def __init__(self, lr=1e-3):
        self.encoder = PixelEncoder()
        self.skill_net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16))
        self.state_net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16))
        self.encoder_opt = torch.optim.Adam(self.encoder.parameters(), lr=lr)
        self.skill_opt = torch.optim.Adam([*self.skill_net.parameters(), *self.state_net.parameters()], lr=lr)

    def augment(self, pixels):
        return pixels + 0.05 * torch.randn_like(pixels)

    def update_skills(self, obs, next_obs, skill):
        query = F.normalize(self.skill_net(skill), dim=-1)
        key = F.normalize(self.state_net(torch.cat([obs, next_obs], dim=-1)), dim=-1)
        loss = F.cross_entropy(query @ key.T / 0.5, torch.arange(len(query)))
        self.encoder_opt.zero_grad(set_to_none=True)
        self.skill_opt.zero_grad(set_to_none=True)
        loss.backward()
        self.encoder_opt.step()
        self.skill_opt.step()
        return loss.item()

    def update(self, batch):
        obs, next_obs, skill = batch
        obs = self.encoder(self.augment(obs))
        next_obs = self.encoder(self.augment(next_obs))
        return self.update_skills(obs, next_obs, skill)


def replay(n, size):
    for _ in range(n):
        skill = torch.rand(size, 6)
        obs = torch.rand(size, 3, 12, 12)
        step = skill[:, :3, None, None].expand(-1, -1, 12, 12)
        yield obs, (obs + 0.5 * step).clamp(0, 1.5), skill


torch.manual_seed(21)
agent = SkillAgent()
losses = [agent.update(batch) for batch in replay(60, 16)]
print(f"RESULT {losses[0]:.5f} {sum(losses[-10:]) / 10:.5f}")
