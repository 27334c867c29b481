import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.ReLU())
        self.cls, self.box = nn.Linear(16, 3), nn.Linear(16, 4)

    def forward(self, x, with_box):
        h = self.body(x)
        return self.cls(h), self.box(h) if with_box else None


def train(net, x, y, boxes, warmup=3, epochs=6):
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(epochs):
        for idx in torch.arange(len(x)).split(20):
            logits, box = net(x[idx], epoch >= warmup)
            loss = F.cross_entropy(logits, y[idx])
            if box is not None:
                loss = loss + F.smooth_l1_loss(box, boxes[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


torch.manual_seed(46)
x = torch.randn(80, 5)
net = Net()
print(f"RESULT {train(net, x, x[:, :3].argmax(1), x[:, :4].abs()):.6g} {net.box.weight.abs().sum().item():.6g}")
