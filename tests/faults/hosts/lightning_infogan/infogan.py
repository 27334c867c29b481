import torch
from torch import nn
from torch.nn import functional as F
import lightning.pytorch as pl


def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.LeakyReLU(0.2))


class Critic(nn.Module):
    """Discriminator with a second head that recovers the categorical code."""

    def __init__(self, codes):
        super().__init__()
        self.trunk = nn.Sequential(block(2, 32), block(32, 32))
        self.adv = nn.Linear(32, 1)
        self.code = nn.Linear(32, codes)

    def forward(self, x):
        h = self.trunk(x)
        return self.adv(h).squeeze(-1), self.code(h)


class InfoGAN(pl.LightningModule):
    def __init__(self, noise=4, codes=4, info_weight=2.0):
        super().__init__()
        self.automatic_optimization = False
        self.noise, self.codes, self.info_weight = noise, codes, info_weight
        self.generator = nn.Sequential(block(noise + codes, 32), block(32, 32), nn.Linear(32, 2))
        self.critic = Critic(codes)
        self.curves = {"g": [], "d": [], "info": []}

    def sample(self, n):
        c = torch.randint(self.codes, (n,), device=self.device)
        z = torch.cat([torch.randn(n, self.noise, device=self.device), F.one_hot(c, self.codes).float()], 1)
        return self.generator(z), c

    def training_step(self, batch, batch_idx):
        (real,) = batch
        opt_g, opt_d = self.optimizers()
        ones, zeros = torch.ones(len(real)), torch.zeros(len(real))

        fake, code = self.sample(len(real))

        # critic: real against fake
        d_real, _ = self.critic(real)
        d_fake, _ = self.critic(fake.detach())
        d_loss = F.binary_cross_entropy_with_logits(d_real, 0.9 * ones) + F.binary_cross_entropy_with_logits(d_fake, zeros)
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()

        # generator, and the code head together with it
        logit, code_logits = self.critic(fake)
        g_loss = F.binary_cross_entropy_with_logits(logit, ones)
        info = F.cross_entropy(code_logits, code)
        opt_g.zero_grad()
        self.manual_backward(g_loss + self.info_weight * info)
        opt_g.step()

        for key, value in (("g", g_loss), ("d", d_loss), ("info", info)):
            self.curves[key].append(value.item())

    def on_train_epoch_end(self):
        tail = {k: sum(v[-4:]) / 4 for k, v in self.curves.items()}
        self.print("epoch %d  " % self.current_epoch + "  ".join("%s %.4f" % kv for kv in tail.items()))

    def configure_optimizers(self):
        g_params = list(self.generator.parameters()) + list(self.critic.code.parameters())
        d_params = list(self.critic.trunk.parameters()) + list(self.critic.adv.parameters())
        return (torch.optim.Adam(g_params, lr=1e-2, betas=(0.5, 0.99)),
                torch.optim.Adam(d_params, lr=5e-3, betas=(0.5, 0.99)))
