import torch
import torch.nn as nn
import torch.nn.functional as F


class EMAQuantizer(nn.Module):
    def __init__(self, n_codes, dim, decay=0.8, eps=1e-5):
        super().__init__()
        self.n_codes, self.decay, self.eps = n_codes, decay, eps
        embed = 0.5 * torch.randn(n_codes, dim)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.ones(n_codes))
        self.register_buffer("embed_avg", embed.clone())

    @torch.no_grad()
    def update(self, flat, onehot):
        self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.embed_avg.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
        n = self.cluster_size.sum()
        size = (self.cluster_size + self.eps) / (n + self.n_codes * self.eps) * n
        self.embed.copy_(self.embed_avg / size.unsqueeze(1))
        # revive codes nobody uses
        dead = self.cluster_size < 0.05
        if dead.any():
            pick = flat[torch.randint(len(flat), (int(dead.sum()),))]
            self.embed[dead] = pick
            self.embed_avg[dead] = pick
            self.cluster_size[dead] = 1.0

    def forward(self, h):
        b, d, t = h.shape
        flat = h.permute(0, 2, 1).reshape(-1, d)
        with torch.no_grad():
            idx = torch.cdist(flat, self.embed).argmin(1)
            onehot = F.one_hot(idx, self.n_codes).type_as(flat)
            p = onehot.mean(0)
            perplexity = torch.exp(-(p * (p + 1e-10).log()).sum())
        q = F.embedding(idx, self.embed).view(b, t, d).permute(0, 2, 1)
        commit = F.mse_loss(h, q)
        if self.training:
            self.update(flat.detach(), onehot)
        return h + (q - h).detach(), commit, perplexity


class VQVAE(nn.Module):
    def __init__(self, hidden, n_codes, dim):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, hidden, 4, 2, 1), nn.ReLU(), nn.Conv1d(hidden, dim, 4, 2, 1))
        self.vq = EMAQuantizer(n_codes, dim)
        self.dec = nn.Sequential(nn.ConvTranspose1d(dim, hidden, 4, 2, 1), nn.ReLU(), nn.ConvTranspose1d(hidden, 1, 4, 2, 1))

    def forward(self, x):
        q, commit, perplexity = self.vq(self.enc(x))
        return self.dec(q), commit, perplexity
