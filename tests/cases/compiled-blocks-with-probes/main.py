from collections import deque
from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.ff = nn.LayerNorm(width), nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class Net(nn.Module):
    def __init__(self, width=12, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.out(x).squeeze(-1)


@contextmanager
def probing(net, store):
    def record(module, args, out):
        store.append(out.detach().abs().mean())
    handles = [b.register_forward_hook(record) for b in net.blocks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def main():
    torch.manual_seed(68)
    net = Net()
    head = torch.compile(nn.Sequential(nn.Linear(5, 12), nn.Tanh()), backend="eager")
    optimizer = torch.optim.AdamW([*net.parameters(), *head.parameters()], lr=3e-3)
    window, means = deque(maxlen=8), []
    for step in range(40):
        x = torch.randn(24, 5)
        optimizer.zero_grad(set_to_none=True)
        if step % 10 == 0:
            with probing(net, means):
                loss = nn.functional.mse_loss(net(head(x)), x.sum(-1))
                loss.backward()
        else:
            loss = nn.functional.mse_loss(net(head(x)), x.sum(-1))
            loss.backward()
        optimizer.step()
        window.append(loss.detach())
    print(f"RESULT {torch.stack(tuple(window)).mean().item():.5f} {len(means)}")


main()
