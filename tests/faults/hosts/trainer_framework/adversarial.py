import torch
from torch import nn
import torch.nn.functional as F

from base import BaseTrainer


class AdversarialTrainer(BaseTrainer):
    def build_networks(self):
        return {
            "generator": nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)),
            "discriminator": nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)),
        }

    def configure_optimizers(self):
        return {name: torch.optim.Adam(net.parameters(), lr=5e-3, betas=(0.5, 0.9)) for name, net in self.networks.items()}

    def train_dataloader(self):
        for _ in range(5):
            angle = torch.rand(32) * 6.2832
            yield torch.stack([angle.cos(), angle.sin()], 1)

    def training_step(self, batch, batch_idx):
        generator, discriminator = self.networks["generator"], self.networks["discriminator"]
        fake = generator(torch.randn(batch.size(0), 4))
        d_loss = F.softplus(-discriminator(batch)).mean() + F.softplus(discriminator(fake.detach())).mean()
        d_value = self.apply_update("discriminator", d_loss)
        g_loss = F.softplus(-discriminator(fake)).mean()
        g_value = self.apply_update("generator", g_loss)
        return {"d": d_value, "g": g_value}

    def validate(self):
        radius = self.networks["generator"](torch.randn(64, 4)).norm(dim=1)
        return {"radius": radius.mean().item()}

    def on_epoch_end(self, metrics):
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] *= 0.9
