import torch

from loop import fit
from parts import build, make_data


if __name__ == "__main__":
    torch.manual_seed(49)
    model = build(9, 4)
    history = fit(model, make_data(160, 9), make_data(64, 9), epochs=3)
    print("RESULT", *(f"{v:.6g}" for v in history))
