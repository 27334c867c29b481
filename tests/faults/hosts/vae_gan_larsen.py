"""VAE/GAN on 1-d pulses, after Algorithm 1 of Larsen et al. (2016).

theta_enc <- -grad (L_prior + L_llike)
theta_dec <- -grad (gamma * L_llike - L_gan)
theta_dis <- -grad L_gan
"""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(160)
LENGTH, Z, GAMMA, STEPS = 20, 4, 0.5, 13


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LENGTH, 40), nn.ReLU())
        self.mu, self.logsig = nn.Linear(40, Z), nn.Linear(40, Z)

    def forward(self, x):
        h = self.body(x)
        return self.mu(h), self.logsig(h)


class Dis(nn.Module):
    """Returns the l-th layer features next to the logit."""

    def __init__(self):
        super().__init__()
        self.lower = nn.Sequential(nn.Linear(LENGTH, 40), nn.LeakyReLU(0.2), nn.Linear(40, 24))
        self.upper = nn.Sequential(nn.LeakyReLU(0.2), nn.Linear(24, 1))

    def forward(self, x):
        feat = self.lower(x)
        return feat, self.upper(feat).squeeze(-1)


enc, dis = Enc(), Dis()
dec = nn.Sequential(nn.Linear(Z, 40), nn.ReLU(), nn.Linear(40, LENGTH))
params = {name: list(net.parameters()) for name, net in [("enc", enc), ("dec", dec), ("dis", dis)]}
opts = {name: torch.optim.RMSprop(ps, lr=1e-3) for name, ps in params.items()}


def batches(n=32):
    t = torch.linspace(-1, 1, LENGTH)
    while True:
        centre = torch.rand(n, 1) * 1.4 - 0.7
        width = 0.1 + 0.2 * torch.rand(n, 1)
        yield torch.exp(-((t - centre) / width) ** 2)


def softplus_mean(x):
    return F.softplus(x).mean()


for step, x in zip(range(1, STEPS + 1), batches()):
    mu, logsig = enc(x)
    z = mu + torch.randn_like(mu) * logsig.exp()
    x_tilde = dec(z)
    x_p = dec(torch.randn_like(mu))

    f_real, d_real = dis(x)
    f_tilde, d_tilde = dis(x_tilde)
    _, d_p = dis(x_p)

    L_prior = 0.5 * (mu ** 2 + (2 * logsig).exp() - 1 - 2 * logsig).sum(1).mean()
    L_llike = 0.5 * (f_tilde - f_real).pow(2).sum(1).mean()
    L_gan = softplus_mean(-d_real) + 0.5 * softplus_mean(d_tilde) + 0.5 * softplus_mean(d_p)

    for o in opts.values():
        o.zero_grad()
    (L_prior + L_llike).backward(inputs=params["enc"], retain_graph=True)
    (GAMMA * L_llike - L_gan).backward(inputs=params["dec"], retain_graph=True)
    L_gan.backward(inputs=params["dis"])
    for o in opts.values():
        o.step()

    losses = L_prior.item(), L_llike.item(), L_gan.item()
    if step % 4 == 0 or step == STEPS:
        print("%3d  prior %.4f  llike %.4f  gan %.4f" % (step, *losses))

sizes = [sum(p.detach().abs().sum().item() for p in ps) for ps in params.values()]
print("RESULT", *("%.6g" % v for v in (*sizes, *losses)))
