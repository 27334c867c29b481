# kind: detach
# cause: carried-state
# carrier: h
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 6)
        self.out = nn.Linear(6, 1)

    def forward(self, xs, h, c):
        for x in xs:
            h, c = self.cell(x, (h, c))  #@built
        return self.out(h), h, c


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.01)


def train(steps=5):
    h = c = torch.zeros(4, 6)
    for _ in range(steps):
        xs = torch.randn(3, 4, 3)
        y, h, c = net(xs, h, c)
        loss = (y - xs.sum((0, 2)).unsqueeze(1)).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()  #@failed @freed
        h = h.detach()  #+
        c = c.detach()  #+
    return loss.item()


print("RESULT", train(), net.out.weight.sum().item())
