import torch

from trainer import TrainConfig, Trainer
from task import make_model, parity_batches


def main():
    torch.manual_seed(72)
    trainer = Trainer(make_model(10), TrainConfig(grad_accum=3, lr=0.1))
    for _ in range(2):
        trainer.train_epoch(parity_batches(12, 10))
    print("RESULT", *(f"{v:.6g}" for v in trainer.history))


if __name__ == "__main__":
    main()
