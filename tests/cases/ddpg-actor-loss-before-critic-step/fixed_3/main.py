import torch

from ddpg import DDPG


def batches(n, size):
    for _ in range(n):
        s = torch.randn(size, 4)
        a = torch.rand(size, 2) * 2 - 1
        yield s, a, -(a - s[:, :2].tanh()).square().sum(1, keepdim=True), s + 0.1 * torch.randn_like(s)


if __name__ == "__main__":
    torch.manual_seed(20)
    agent = DDPG(4, 2)
    for batch in batches(25, 32):
        losses = agent.learn(*batch)
    print("RESULT", *(f"{v:.6g}" for v in losses))
