"""First-order DARTS on a toy regression: architecture weights and network weights take turns."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)

OPS = {
    "skip": lambda width: nn.Identity(),
    "linear": lambda width: nn.Linear(width, width),
    "gated": lambda width: nn.Sequential(nn.Linear(width, 2 * width), nn.GLU(dim=-1)),
    "tanh": lambda width: nn.Sequential(nn.Linear(width, width), nn.Tanh()),
}


class MixedOp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.candidates = nn.ModuleList(make(width) for make in OPS.values())

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.candidates))


class Cell(nn.Module):
    def __init__(self, inputs, width, edges=3):
        super().__init__()
        self.stem = nn.Linear(inputs, width)
        self.edges = nn.ModuleList(MixedOp(width) for _ in range(edges))
        self.head = nn.Linear(width, 1)
        self.alphas = nn.Parameter(1e-3 * torch.randn(edges, len(OPS)))

    def forward(self, x):
        h = torch.relu(self.stem(x))
        for edge, row in zip(self.edges, F.softmax(self.alphas, dim=-1)):
            h = edge(h, row)
        return self.head(h).squeeze(-1)

    def weights(self):
        return [p for n, p in self.named_parameters() if n != "alphas"]


def target(x):
    return torch.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]


train_x, val_x = torch.randn(64, 4), torch.randn(64, 4)
train_y, val_y = target(train_x), target(val_x)

net = Cell(4, 12)
w_optim = torch.optim.SGD(net.weights(), lr=0.03, momentum=0.9)
a_optim = torch.optim.Adam([net.alphas], lr=0.02, betas=(0.5, 0.999))

for step in range(24):
    pick = torch.randint(0, 64, (32,))
    a_optim.zero_grad()
    val_loss = F.mse_loss(net(val_x[pick]), val_y[pick])
    val_loss.backward()
    a_optim.step()

    w_optim.zero_grad()
    train_loss = F.mse_loss(net(train_x[pick]), train_y[pick])
    train_loss.backward()
    nn.utils.clip_grad_norm_(net.weights(), 5.0)
    w_optim.step()
    if step % 8 == 0:
        print(f"{step:3d} train {train_loss.item():.4f} val {val_loss.item():.4f}")

with torch.no_grad():
    final = F.mse_loss(net(val_x), val_y)
chosen = [list(OPS)[i] for i in net.alphas.argmax(dim=-1).tolist()]
print("architecture", chosen)
print("RESULT", f"{final.item():.6f}", *(f"{a:.6f}" for a in net.alphas.detach().sum(0).tolist()))
