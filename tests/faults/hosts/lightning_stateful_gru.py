# One long signal, cut into consecutive windows; the recurrent state is carried from batch to batch.
import logging, math, tempfile, warnings

import torch
from torch import nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings('ignore')
logging.getLogger('lightning.pytorch').setLevel(logging.ERROR)

TRACKS, WINDOW, WINDOWS = 8, 10, 6


def build_signal():
    t = torch.arange(WINDOW * WINDOWS + 1) / 4.0
    w = 0.6 + 0.8 * torch.rand(TRACKS, 1)
    u = torch.sin(w * t + 2 * math.pi * torch.rand(TRACKS, 1)) + 0.3 * torch.sin(0.31 * w * t)
    return u + 0.03 * torch.randn_like(u)


class Forecaster(L.LightningModule):
    def __init__(self, hidden=20):
        super().__init__()
        self.cell = nn.GRU(1, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, 1)
        self.memory = None
        self.epoch_losses = []
        self._running = []

    def forward(self, u, memory=None):
        h, memory = self.cell(u.unsqueeze(-1), memory)
        return self.readout(h).squeeze(-1), memory

    def on_train_epoch_start(self):
        self.memory = None
        self._running.clear()

    def training_step(self, batch, batch_idx):
        u, nxt = batch
        pred, memory = self(u, self.memory)
        self.memory = memory.detach()
        loss = nn.functional.smooth_l1_loss(pred, nxt)
        roughness = (pred[:, 1:] - pred[:, :-1]).pow(2).mean()
        self._running.append(loss.item())
        return loss + 1e-3 * roughness

    def on_train_epoch_end(self):
        self.epoch_losses.append(sum(self._running) / len(self._running))
        if self.current_epoch % 2 == 1:
            print(f'epoch {self.current_epoch}: {self.epoch_losses[-1]:.5f}')

    def configure_optimizers(self):
        return torch.optim.RMSprop(self.parameters(), lr=6e-3)

    @torch.no_grad()
    def free_run(self, warmup, horizon):
        pred, mem = self(warmup)
        x, out = pred[:, -1:], []
        for _ in range(horizon):
            out.append(x)
            x, mem = self(x, mem)
        return torch.cat(out, dim=1)


def main():
    L.seed_everything(64, verbose=False)
    sig = build_signal()
    # consecutive windows of all tracks, in order: no shuffling
    x = torch.cat(sig[:, :-1].split(WINDOW, dim=1))
    y = torch.cat(sig[:, 1:].split(WINDOW, dim=1))
    windows = DataLoader(TensorDataset(x, y), batch_size=TRACKS, shuffle=False)

    net = Forecaster()
    with tempfile.TemporaryDirectory() as d:
        trainer = L.Trainer(max_epochs=6, accelerator='cpu', logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, default_root_dir=d,
                            gradient_clip_val=1.0)
        trainer.fit(net, windows)

    net.eval()
    future = net.free_run(sig[:, :40], 15)
    err = (future - sig[:, 40:55]).abs().mean().item()
    print(f'free-run error {err:.4f}')
    print('RESULT %.6g %.6g %.6g %.6g' % (
        sum(p.abs().sum().item() for p in net.cell.parameters()),
        sum(p.abs().sum().item() for p in net.readout.parameters()),
        net.epoch_losses[-1], net.memory.abs().sum().item()))


if __name__ == '__main__':
    main()
