import torch
from torch import nn

torch.manual_seed(5)


class Recommender(nn.Module):
    def __init__(self, users=30, items=20, dim=6):
        super().__init__()
        self.user = nn.Embedding(users, dim, sparse=True)
        self.item = nn.Embedding(items, dim, sparse=True)
        self.tower = nn.Sequential(nn.Linear(2 * dim, 12), nn.ReLU(), nn.Linear(12, 1))

    def forward(self, pair):
        return self.tower(torch.cat([self.user(pair[:, 0]), self.item(pair[:, 1])], 1)).squeeze(1)


def ratings(n):
    pairs = torch.stack([torch.randint(30, (n,)), torch.randint(20, (n,))], 1)
    return pairs, (pairs.sum(1) % 5).float() / 4


net = Recommender()
criterion = nn.MSELoss()
optimizers = [
    torch.optim.SparseAdam([*net.user.parameters(), *net.item.parameters()], lr=0.01),
    torch.optim.Adam(net.tower.parameters(), lr=0.003),
]
pairs, scores = ratings(256)
for epoch in range(3):
    for i in range(0, 256, 32):
        x, y = pairs[i:i + 32], scores[i:i + 32]
        loss = criterion(net(x), y)
        for opt in optimizers:
            opt.zero_grad()
        loss.backward()
        for opt in optimizers:
            opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
print("RESULT", f"{loss.item():.6g}", f"{net.user.weight.abs().sum().item():.6g}", f"{net.tower[0].weight.abs().sum().item():.6g}")
