import argparse

import torch
import torch.nn.functional as F

from model import MemoryLM


def segments(n, length, batch, vocab):
    seq = torch.randint(vocab, (batch, 1)) + torch.arange(n * length + 1)
    seq = seq % vocab
    for i in range(0, n * length, length):
        yield seq[:, i:i + length], seq[:, i + 1:i + length + 1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--vocab", type=int, default=9)
    args = parser.parse_args()
    torch.manual_seed(2)
    model = MemoryLM(args.vocab)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    mems = model.init_mems(4)
    for step, (x, y) in enumerate(segments(args.steps, 5, 4, args.vocab)):
        logits, mems = model(x, mems)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            print(f"segment {step}: {loss.item():.4f}")
    print(f"RESULT {loss.item():.6g} {model.head.weight.abs().sum().item():.6g}")


if __name__ == "__main__":
    main()
