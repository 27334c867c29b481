import torch

from p2p_model import Pix2Pix


def pairs(n, size=16):
    mix = torch.randn(6, 6) / 2
    for _ in range(n):
        a = torch.randn(size, 6)
        yield a, torch.tanh(a @ mix)


if __name__ == "__main__":
    torch.manual_seed(23)
    model = Pix2Pix()
    for i, pair in enumerate(pairs(30)):
        model.set_input(pair)
        model.optimize_parameters()
        if i % 10 == 0:
            print(f"{i} D {model.loss_D.item():.4f} G {model.loss_G.item():.4f}")
    print(f"RESULT {model.loss_D.item():.6g} {model.loss_G.item():.6g}")
