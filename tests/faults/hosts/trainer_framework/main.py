import torch

from adversarial import AdversarialTrainer
from segmentation import SegmentationTrainer


def main():
    torch.manual_seed(2024)
    numbers = []
    for trainer_class, epochs in ((SegmentationTrainer, 4), (AdversarialTrainer, 3)):
        trainer = trainer_class(epochs).fit()
        print(trainer_class.__name__)
        for epoch, metrics in enumerate(trainer.history):
            print("  ", epoch, " ".join(f"{k}={v:.4f}" for k, v in sorted(metrics.items())))
        numbers += list(trainer.fingerprint().values())
        numbers += list(trainer.history[-1].values())
    print("RESULT", *(f"{v:.6g}" for v in numbers))


if __name__ == "__main__":
    main()
