"""Denoising autoencoder for sensor curves, monitored by a handful of Lightning callbacks."""
from collections import defaultdict
import copy
import logging
import tempfile
import warnings

import lightning as L
import torch
import torch.nn as nn
from lightning.pytorch.callbacks import Callback, EarlyStopping
from torch.utils.data import DataLoader, TensorDataset, random_split

warnings.filterwarnings("ignore", module="lightning")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class SensorCurves(L.LightningDataModule):
    def __init__(self, sensors=160, samples=16, batchSize=20):
        super().__init__()
        self.sensors, self.samples, self.batchSize = sensors, samples, batchSize

    def setup(self, stage):
        coefficients = torch.randn(self.sensors, 4)
        basis = torch.stack([torch.linspace(-1, 1, self.samples) ** k for k in range(4)])
        self.trainPart, self.validationPart = random_split(TensorDataset(coefficients @ basis), [120, 40])

    def train_dataloader(self):
        return DataLoader(self.trainPart, batch_size=self.batchSize, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.validationPart, batch_size=40)


class DenoisingAutoencoder(L.LightningModule):
    def __init__(self, samples=16, bottleneck=5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(samples, 24), nn.SiLU(), nn.Linear(24, bottleneck))
        self.decoder = nn.Sequential(nn.Linear(bottleneck, 24), nn.SiLU(), nn.Linear(24, samples))

    def forward(self, curve):
        return self.decoder(self.encoder(curve))

    def training_step(self, batch, _):
        (clean,) = batch
        code = self.encoder(clean + 0.2 * torch.randn_like(clean))
        reconstruction = nn.functional.mse_loss(self.decoder(code), clean)
        sparsity = code.abs().mean()
        self.log("train/reconstruction", reconstruction.detach(), on_epoch=True, on_step=False)
        return {"loss": reconstruction + 0.01 * sparsity, "sparsity": sparsity.detach()}

    def validation_step(self, batch, _):
        (clean,) = batch
        self.log("val/mse", nn.functional.mse_loss(self(clean), clean))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


class WeightAverage(Callback):
    def __init__(self, decay):
        self.decay, self.shadow, self.seen = decay, None, 0

    def on_fit_start(self, trainer, module):
        self.shadow = copy.deepcopy(module.encoder).requires_grad_(False), copy.deepcopy(module.decoder).requires_grad_(False)

    @torch.no_grad()
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_step == self.seen:
            return
        self.seen = trainer.global_step
        for slow_net, net in zip(self.shadow, (module.encoder, module.decoder)):
            for slow, fast in zip(slow_net.parameters(), net.parameters()):
                slow.lerp_(fast, 1 - self.decay)


class Monitor(Callback):
    def __init__(self):
        self.history = defaultdict(list)

    def on_before_optimizer_step(self, trainer, module, optimizer):
        norms = [p.grad.norm() for p in module.parameters()]
        self.history["gradNorm"].append(torch.stack(norms).norm().item())

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.history["sparsity"].append(outputs["sparsity"].item())
        self.history["loss"].append(outputs["loss"].item())

    def on_validation_epoch_end(self, trainer, module):
        self.history["val"].append(trainer.callback_metrics["val/mse"].item())

    def on_train_epoch_end(self, trainer, module):
        print("epoch %d | " % trainer.current_epoch + " | ".join("%s %.4f" % (k, v[-1]) for k, v in self.history.items()))


if __name__ == "__main__":
    L.seed_everything(88, verbose=False)
    average, monitor = WeightAverage(0.8), Monitor()
    autoencoder = DenoisingAutoencoder()
    with tempfile.TemporaryDirectory() as folder:
        L.Trainer(
            max_epochs=7, accelerator="cpu", default_root_dir=folder, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0, accumulate_grad_batches=2,
            callbacks=[average, monitor, EarlyStopping("val/mse", patience=4)],
        ).fit(autoencoder, datamodule=SensorCurves())
    total = lambda m: sum(p.abs().sum().item() for p in m.parameters())
    print("RESULT %.6g %.6g %.6g %.6g %.6g" % (
        total(autoencoder.encoder), total(autoencoder.decoder), *map(total, average.shadow), monitor.history["val"][-1]))
