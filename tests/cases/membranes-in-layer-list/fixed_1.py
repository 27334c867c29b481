import torch
from torch import nn


class Surrogate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g / (1 + 10 * v.abs()) ** 2


class SNN(nn.Module):
    def __init__(self, sizes=(6, 14, 3), beta=0.8):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.sizes, self.beta = sizes, beta

    def reset(self, batch):
        self.membranes = [torch.zeros(batch, n) for n in self.sizes[1:]]

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            mem = self.beta * self.membranes[i] + layer(x)
            x = Surrogate.apply(mem - 1.0)
            self.membranes[i] = mem - x
        return mem


def loss_fn(net, x, y, steps=6):
    out = torch.stack([net((torch.rand_like(x) < x.sigmoid()).float()) for _ in range(steps)]).mean(0)
    return nn.functional.cross_entropy(out, y)


def train(net, data, labels, batch=16):
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    net.reset(batch)
    for x, y in zip(data.split(batch), labels.split(batch)):
        net.membranes = [m.detach() for m in net.membranes]
        loss = loss_fn(net, x, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(124)
data = 2 * torch.randn(128, 6)
print("RESULT %.6g" % train(SNN(), data, data[:, :3].argmax(1)))
