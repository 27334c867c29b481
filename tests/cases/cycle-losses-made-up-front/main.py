import torch

from cycle import CycleModel
from domains import pairs


def main():
    torch.manual_seed(6)
    model = CycleModel(dim=4)
    for step, (a, b) in enumerate(pairs(12, 16, 4)):
        logs = model.update(a, b)
    print("RESULT", *(f"{v:.6g}" for v in logs.values()))


if __name__ == "__main__":
    main()
