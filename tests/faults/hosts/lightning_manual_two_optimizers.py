"""Manual optimisation: a regressor and the network that weighs its samples, two optimizers in one LightningModule."""
import logging
import warnings

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning as L


class Weighted(L.LightningModule):
    def __init__(self, inputs=4):
        super().__init__()
        self.automatic_optimization = False
        self.regressor = torch.nn.Sequential(torch.nn.Linear(inputs, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
        self.weigher = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        self.seen = []

    def configure_optimizers(self):
        return (
            torch.optim.Adam(self.regressor.parameters(), lr=1e-2),
            torch.optim.Adam(self.weigher.parameters(), lr=5e-3),
        )

    def training_step(self, batch, batch_idx):
        x, y = batch
        main_opt, weigh_opt = self.optimizers()
        residual = (self.regressor(x).squeeze(-1) - y).abs()

        weights = torch.softmax(self.weigher(residual.detach().unsqueeze(-1)).squeeze(-1), dim=0)
        main_opt.zero_grad()
        main_loss = (weights.detach() * residual).sum()
        self.manual_backward(main_loss)
        main_opt.step()

        weigh_opt.zero_grad()
        spread = (weights * residual.detach()).sum() + 0.1 * (weights * weights.clamp_min(1e-9).log()).sum()
        self.manual_backward(spread)
        weigh_opt.step()
        self.seen.append(main_loss.item())


def main():
    L.seed_everything(9, verbose=False)
    x = torch.randn(72, 4)
    y = x[:, 0] - 0.5 * x[:, 1] ** 2
    y[::9] += 6.0
    model = Weighted()
    trainer = L.Trainer(
        max_epochs=4,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(x, y), batch_size=12))
    with torch.no_grad():
        final = F.l1_loss(model.regressor(x).squeeze(-1), y)
    print("RESULT", f"{sum(model.seen[-6:]) / 6:.6f}", f"{final.item():.6f}")


if __name__ == "__main__":
    main()
