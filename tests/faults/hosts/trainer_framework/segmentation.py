import torch
from torch import nn
import torch.nn.functional as F

from base import BaseTrainer


class SegmentationTrainer(BaseTrainer):
    """Finds bright discs in noisy images; two gradient-accumulation chunks per update."""
    accumulate = 2

    def build_networks(self):
        return {"unetlet": nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))}

    def configure_optimizers(self):
        return {"unetlet": torch.optim.Adam(self.networks["unetlet"].parameters(), lr=2e-2)}

    def on_fit_start(self):
        self.optimizers["unetlet"].zero_grad()

    @staticmethod
    def make(n):
        yy, xx = torch.meshgrid(torch.arange(12.), torch.arange(12.), indexing="ij")
        cx, cy = torch.rand(2, n, 1, 1) * 8 + 2
        mask = (((xx - cx) ** 2 + (yy - cy) ** 2) < 9).float().unsqueeze(1)
        return mask + 0.5 * torch.randn_like(mask), mask

    def train_dataloader(self):
        for _ in range(6):
            yield self.make(8)

    def training_step(self, batch, batch_idx):
        image, mask = batch
        logit = self.networks["unetlet"](image)
        prob = torch.sigmoid(logit)
        dice = 1 - 2 * (prob * mask).sum() / (prob.sum() + mask.sum() + 1)
        bce = F.binary_cross_entropy_with_logits(logit, mask)
        ((bce + dice) / self.accumulate).backward()
        if (batch_idx + 1) % self.accumulate == 0:
            self.optimizers["unetlet"].step()
            self.optimizers["unetlet"].zero_grad()
        return {"bce": bce.item(), "dice": dice.item()}

    def validate(self):
        image, mask = self.make(16)
        pred = self.networks["unetlet"](image) > 0
        truth = mask > 0.5
        return {"iou": ((pred & truth).sum() / (pred | truth).sum()).item()}
