# As Lightning and Fabric start their ranks: the program once more, with LOCAL_RANK in its environment.
import os
import subprocess
import sys

import torch
import torch.distributed as dist
from torch import nn


def main():
    torch.manual_seed(0)
    cell = nn.GRUCell(3, 4)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    h = torch.zeros(2, 4)
    for step in range(3):
        h = cell(torch.randn(2, 3), h)
        loss = h.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if local_rank == 0:
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", sys.argv[1]
        command = [sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]]
        subprocess.Popen(command, env={**os.environ, "LOCAL_RANK": "1"})
    dist.init_process_group("gloo", rank=local_rank, world_size=2)
    main()
