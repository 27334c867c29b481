import torch

from config import Config
from dataset import ClipDataset
from model import ConvGRUPredictor
from trainer import Trainer


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    model = ConvGRUPredictor(cfg.channels)
    trainer = Trainer(model, ClipDataset(cfg), cfg)
    trainer.fit()
    print("RESULT", f"{trainer.meter.mean():.6g}", f"{model.head.weight.detach().norm():.6g}")


if __name__ == "__main__":
    main()
