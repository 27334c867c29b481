import torch

from data import batches
from engine import Engine
from monitors import GradientMonitor, LossMonitor
from network import Regressor


def main():
    torch.manual_seed(21)
    model = Regressor(6, 24)
    engine = Engine(model, lr=0.02)
    engine.attach(LossMonitor(every=10))
    engine.attach(GradientMonitor(every=50))
    engine.run(batches(6, 16), steps=120)
    print("RESULT", f"{engine.last_loss:.6g}", f"{model.out.weight.detach().norm():.6g}")


if __name__ == "__main__":
    main()
