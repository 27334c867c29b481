from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

torch.manual_seed(121)
encoder = nn.Sequential(nn.Linear(5, 12), nn.Tanh())
heads = nn.ModuleList(nn.Linear(12, 1) for _ in range(4))
optimizer = torch.optim.SGD([*encoder.parameters(), *heads.parameters()], lr=0.05)
scene = torch.randn(10, 5)
targets = [scene[:, i:i + 1] for i in range(4)]


def lock_step(context, task):
    loss = (heads[task](context) - targets[task]).pow(2).mean()
    loss.backward()
    return loss.item()


def one_round(pool):
    context = encoder(scene)
    optimizer.zero_grad()

    def job(task):
        return lock_step(context, task)

    losses = [pool.submit(job, task).result() for task in range(4)]
    optimizer.step()
    return sum(losses)


with ThreadPoolExecutor(1) as pool:
    curve = [one_round(pool) for _ in range(10)]
print(f"RESULT {curve[0]:.6g} {curve[-1]:.6g}")
