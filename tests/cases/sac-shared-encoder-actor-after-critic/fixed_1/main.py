import torch

from agent import SAC
from buffer import Buffer

torch.manual_seed(42)
buffer = Buffer(400, obs=5, act=2)
agent = SAC(5, 2)
for step in range(20):
    info = agent.update(buffer.sample(32))
print("RESULT", *(f"{info[k]:.6g}" for k in ("critic", "actor")))
