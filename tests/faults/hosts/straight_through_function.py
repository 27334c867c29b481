# Binarised classifier with a hand-written autograd.Function (straight-through sign) and weight clipping.
import torch
from torch.nn import functional as F


class SignSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1).to(grad.dtype)


binarise = SignSTE.apply


class BinaryLinear(torch.nn.Linear):
    def forward(self, x):
        return F.linear(x, binarise(self.weight), self.bias)


def batches(n, size, gen):
    for _ in range(n):
        label = torch.randint(0, 3, (size,), generator=gen)
        centre = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [0.0, -1.2]])[label]
        yield centre + 0.3 * torch.randn(size, 2, generator=gen), label


gen = torch.Generator().manual_seed(5)
torch.manual_seed(5)
net = torch.nn.Sequential(torch.nn.Linear(2, 24), torch.nn.BatchNorm1d(24), BinaryLinear(24, 24), torch.nn.Hardtanh(), torch.nn.Linear(24, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
hits, seen, curve = 0, 0, []
for i, (x, y) in enumerate(batches(36, 20, gen)):
    logits = net(x)
    loss = F.cross_entropy(logits, y, label_smoothing=0.05)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, BinaryLinear):
                m.weight.clamp_(-1, 1)
    hits += (logits.argmax(1) == y).sum().item()
    seen += len(y)
    curve.append(float(loss))
print("accuracy while training", hits / seen)
print("RESULT %.6f %.6f" % (sum(curve[-6:]) / 6, sum(p.detach().norm().item() for p in net.parameters())))
