import torch
from torch import nn
import torch.nn.functional as F


class Autoencoder(nn.Module):
    def __init__(self, dim=10, code=3):
        super().__init__()
        self.down = nn.Sequential(nn.Linear(dim, 8), nn.Tanh(), nn.Linear(8, code))
        self.up = nn.Sequential(nn.Linear(code, 8), nn.Tanh(), nn.Linear(8, dim))

    def forward(self, x):
        code = self.down(x)
        return self.up(code), code


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=5e-3)
        self.objectives = []

    def add(self, value, weight=1.0):
        self.objectives.append(weight * value)

    def step(self, x):
        self.objectives = []
        self.opt.zero_grad()
        recon, code = self.model(x)
        self.add(F.mse_loss(recon, x))
        self.add(code.abs().mean(), weight=0.01)
        loss = torch.stack(self.objectives).sum()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(20)
data = torch.randn(120, 3) @ torch.randn(3, 10)
trainer = Trainer(Autoencoder())
curve = [trainer.step(batch) for _ in range(4) for batch in data.split(20)]
print("RESULT", f"{curve[0]:.6g}", f"{curve[-1]:.6g}")
