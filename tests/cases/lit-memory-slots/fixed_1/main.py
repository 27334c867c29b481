import logging
import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from blocks import SlotBank

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class MotifStream(L.LightningDataModule):
    def __init__(self, n=24, length=6, vocab=11, batch_size=4):
        super().__init__()
        g = torch.Generator().manual_seed(5)
        start = torch.randint(0, vocab, (n, 1), generator=g)
        stride = torch.randint(1, 4, (n, 1), generator=g)
        self.tokens = (start + stride * torch.arange(length + 1)) % vocab
        self.batch_size = batch_size

    def train_dataloader(self):
        ds = TensorDataset(self.tokens[:, :-1], self.tokens[:, 1:])
        return DataLoader(ds, batch_size=self.batch_size, shuffle=False)


class SlotLM(L.LightningModule):
    def __init__(self, vocab=11, width=16, n_slots=4, lr=5e-3):
        super().__init__()
        self.save_hyperparameters()
        self.embed = nn.Embedding(vocab, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.bank = SlotBank(n_slots, width)
        self.head = nn.Linear(2 * width, vocab)
        self.curve = []

    def forward(self, x):
        h, _ = self.mix(self.embed(x))
        return self.head(torch.cat([h, self.bank(h)], dim=-1))

    def on_train_epoch_start(self):
        self.bank.state = None

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        self.log("train_loss", loss)
        self.curve.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    L.seed_everything(17, verbose=False)
    lm = SlotLM()
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=1.0,
    )
    trainer.fit(lm, datamodule=MotifStream())
    print(f"RESULT {sum(lm.curve[-6:]) / 6:.6g} {lm.bank.state.slots.norm().item():.6g}")


if __name__ == "__main__":
    main()
