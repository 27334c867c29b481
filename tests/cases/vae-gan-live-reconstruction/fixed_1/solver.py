import torch
import torch.nn.functional as F

from nets import VAE, mlp


class Solver:
    def __init__(self, opt):
        self.opt = opt
        self.vae, self.disc = VAE(opt.latent), mlp(2, 1)
        self.optim_vae = torch.optim.Adam(self.vae.parameters(), lr=2e-3)
        self.optim_disc = torch.optim.Adam(self.disc.parameters(), lr=1e-3)
        self.losses = {}

    def forward(self, x):
        self.real = x
        self.recon, self.mu, self.logvar = self.vae(x)

    def backward_disc(self):
        real, fake = self.disc(self.real), self.disc(self.recon.detach())
        loss = F.binary_cross_entropy_with_logits(real, torch.ones_like(real))
        loss = loss + F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake))
        loss.backward()
        self.losses["disc"] = loss.item()

    def backward_vae(self):
        rec = F.mse_loss(self.recon, self.real)
        kl = -0.5 * (1 + self.logvar - self.mu.square() - self.logvar.exp()).mean()
        fake = self.disc(self.recon)
        adv = F.binary_cross_entropy_with_logits(fake, torch.ones_like(fake))
        loss = rec + 0.05 * kl + self.opt.lambda_adv * adv
        loss.backward()
        self.losses["rec"], self.losses["kl"] = rec.item(), kl.item()

    def optimize(self, x):
        self.forward(x)
        self.optim_disc.zero_grad()
        self.backward_disc()
        self.optim_disc.step()
        self.optim_vae.zero_grad()
        self.backward_vae()
        self.optim_vae.step()
