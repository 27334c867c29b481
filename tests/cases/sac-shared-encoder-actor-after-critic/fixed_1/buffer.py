import torch


class Buffer:
    def __init__(self, n, obs, act):
        self.obs, self.act = torch.randn(n, obs), torch.rand(n, act) * 2 - 1
        self.nxt = self.obs + 0.1 * torch.randn(n, obs)
        self.rew = (self.obs[:, :act] * self.act).sum(1)

    def sample(self, size):
        i = torch.randint(len(self.rew), (size,))
        return self.obs[i], self.act[i], self.rew[i], self.nxt[i]
