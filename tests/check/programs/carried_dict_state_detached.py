import torch
from torch import nn


class Tracker(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 8)
        self.upd = nn.GRUCell(8, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x, state):
        z = torch.relu(self.enc(x))
        h = self.upd(z, state["h"])
        return self.out(h), {"h": h, "n": state["n"] + 1}


def stream(n):
    for i in range(n):
        yield torch.randn(3, 4), torch.randn(3, 2)


def main():
    net = Tracker()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    state = {"h": torch.zeros(3, 8), "n": 0}
    for x, y in stream(12):
        pred, state = net(x, state)
        err = nn.functional.mse_loss(pred, y)
        opt.zero_grad()
        err.backward()
        opt.step()
        state = {k: v.detach() if torch.is_tensor(v) else v for k, v in state.items()}


main()
