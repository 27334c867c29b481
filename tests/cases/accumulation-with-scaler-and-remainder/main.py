import torch

from loop import Loop
from setup import corpus, language_model


def main():
    torch.manual_seed(66)
    model = language_model(vocab=24, dim=16)
    loop = Loop(model, accumulate=4)
    for epoch in range(2):
        loop.epoch(corpus(batches=10, vocab=24))
    print("RESULT", *(f"{v:.6g}" for v in loop.curve[-2:]), loop.updates)


if __name__ == "__main__":
    main()
