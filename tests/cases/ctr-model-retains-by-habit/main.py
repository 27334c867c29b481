import torch
from torch import nn

from basemodel import BaseModel


class WideDeep(BaseModel):
    def __init__(self, fields, dim=4):
        super().__init__()
        self.emb = nn.ModuleList(nn.Embedding(n, dim) for n in fields)
        self.wide, self.deep = nn.Linear(len(fields) * dim, 1), nn.Sequential(nn.Linear(len(fields) * dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        flat = torch.cat([e(x[:, i]) for i, e in enumerate(self.emb)], 1)
        return self.wide(flat) + self.deep(flat)


if __name__ == "__main__":
    torch.manual_seed(94)
    x = torch.stack([torch.randint(n, (160,)) for n in (8, 5, 12)], 1)
    model = WideDeep((8, 5, 12))
    model.compile(lr=1e-2)
    history = model.fit(x, (x.sum(1) % 2).float(), batch_size=32, epochs=4)
    print(f"RESULT {history[0]:.6g} {history[-1]:.6g}")
