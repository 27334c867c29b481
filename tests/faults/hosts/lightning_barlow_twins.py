import logging
import tempfile
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class TwoViews(Dataset):
    """Every item is a pair of distorted copies of one spectrum."""

    def __init__(self, n: int, bins: int):
        peaks = torch.rand(n, 3)
        grid = torch.linspace(0, 1, bins)
        self.spectra = torch.exp(-((grid - peaks[..., None]) ** 2) / 0.005).sum(1)

    def __len__(self):
        return len(self.spectra)

    def distort(self, s):
        return s * (0.8 + 0.4 * torch.rand(1)) + 0.05 * torch.randn_like(s)

    def __getitem__(self, i):
        return self.distort(self.spectra[i]), self.distort(self.spectra[i])


class BarlowTwins(L.LightningModule):
    def __init__(self, bins=24, width=32, dim=10, lambd=0.02, lr=5e-3):
        super().__init__()
        self.save_hyperparameters()
        self.backbone = nn.Sequential(nn.Linear(bins, width), nn.BatchNorm1d(width), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, dim, bias=False))

    def forward(self, x):
        return self.backbone(x)

    def cross_correlation(self, a, b):
        za, zb = self.projector(self(a)), self.projector(self(b))
        za = (za - za.mean(0)) / (za.std(0) + 1e-6)
        zb = (zb - zb.mean(0)) / (zb.std(0) + 1e-6)
        return za.T @ zb / len(a)

    def training_step(self, batch, batch_idx):
        c = self.cross_correlation(*batch)
        on_diag = (torch.diagonal(c) - 1).pow(2).sum()
        off_diag = c.pow(2).sum() - torch.diagonal(c).pow(2).sum()
        loss = on_diag + self.hparams.lambd * off_diag
        self.log_dict({"on": on_diag.detach(), "off": off_diag.detach()}, on_step=False, on_epoch=True)
        self.log("loss_epoch", loss.detach(), on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        a, b = (F.normalize(self.projector(self(v)), dim=1) for v in batch)
        self.log("val_match", ((a @ b.T).argmax(1) == torch.arange(len(a))).float().mean(), batch_size=len(a))

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, self.hparams.lr * 2, total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


class PrintEpoch(L.Callback):
    def __init__(self):
        self.rows = []

    def on_train_epoch_end(self, trainer, pl_module):
        m = {k: float(v) for k, v in trainer.callback_metrics.items()}
        self.rows.append(m)
        print(f"epoch {trainer.current_epoch} " + " ".join(f"{k}={m[k]:.4f}" for k in sorted(m)))


if __name__ == "__main__":
    L.seed_everything(21, verbose=False)
    train = DataLoader(TwoViews(128, 24), batch_size=32, shuffle=True, drop_last=True)
    val = DataLoader(TwoViews(48, 24), batch_size=48)
    model, report = BarlowTwins(), PrintEpoch()
    with tempfile.TemporaryDirectory() as root:
        trainer = L.Trainer(
            max_epochs=6, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
            gradient_clip_val=5.0, default_root_dir=root, callbacks=[report],
        )
        trainer.fit(model, train, val)
    sums = [sum(p.abs().sum().item() for p in part.parameters()) for part in (model.backbone, model.projector)]
    print("RESULT %.6g %.6g %.6g %.6g" % (*sums, report.rows[-1]["loss_epoch"], report.rows[-1]["val_match"]))
