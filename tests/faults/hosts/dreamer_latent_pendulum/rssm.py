from collections import namedtuple
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

Latent = namedtuple("Latent", ["deter", "stoch"])


class RSSM(nn.Module):
    def __init__(self, obs_dim, act_dim, deter=24, stoch=6):
        super().__init__()
        self.deter, self.stoch = deter, stoch
        self.gru = nn.GRUCell(stoch + act_dim, deter)
        self.prior_net = nn.Linear(deter, 2 * stoch)
        self.post_net = nn.Sequential(nn.Linear(deter + obs_dim, 24), nn.ELU(), nn.Linear(24, 2 * stoch))
        self.decoder = nn.Sequential(nn.Linear(deter + stoch, 24), nn.ELU(), nn.Linear(24, obs_dim))
        self.reward_head = nn.Sequential(nn.Linear(deter + stoch, 16), nn.ELU(), nn.Linear(16, 1))

    @staticmethod
    def gaussian(stats):
        mean, raw = stats.chunk(2, -1)
        return Normal(mean, nn.functional.softplus(raw) + 0.1)

    def prior(self, latent, action):
        deter = self.gru(torch.cat([latent.stoch, action], -1), latent.deter)
        return deter, self.gaussian(self.prior_net(deter))

    def loss(self, latent, obs, act, rew, free_nats=0.01):
        feats, kl = [], 0.0
        for o, a in zip(obs, act):
            deter, prior = self.prior(latent, a)
            post = self.gaussian(self.post_net(torch.cat([deter, o], -1)))
            latent = Latent(deter, post.rsample())
            kl = kl + kl_divergence(post, prior).sum(-1).mean().clamp_min(free_nats)
            feats.append(torch.cat(latent, -1))
        feats = torch.stack(feats)
        recon = (self.decoder(feats) - obs).pow(2).sum(-1).mean()
        reward = (self.reward_head(feats).squeeze(-1) - rew).pow(2).mean()
        return recon + reward + 0.1 * kl / len(obs), latent, feats
