import torch

from few_shot import ProtoNet, episode_sets
from train import run_epoch


def main():
    torch.manual_seed(88)
    net = ProtoNet(5, 16)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(3):
        support, queries = episode_sets(classes=4, shots=5, batches=6)
        loss, used = run_epoch(net, optimizer, support, queries)
    print(f"RESULT {used} {loss:.6g}")


if __name__ == "__main__":
    main()
