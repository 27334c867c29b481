import torch

from engine.callbacks import LossCurve
from engine.trainer import Trainer
from scans import ScanModule, loaders


def main():
    torch.manual_seed(13)
    curve = LossCurve()
    trainer = Trainer(max_epochs=3, callbacks=[curve], clip=1.0)
    train, val = loaders()
    trainer.fit(ScanModule(regions=6, hidden=12), train, val)
    print("RESULT", *(f"{v:.5f}" for v in curve.train))


if __name__ == "__main__":
    main()
