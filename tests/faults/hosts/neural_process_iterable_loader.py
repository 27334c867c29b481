import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, IterableDataset

torch.manual_seed(13)


class SineTasks(IterableDataset):
    """Endless regression tasks; whoever wants fewer takes fewer."""

    def __init__(self, points=24, seed=0):
        self.points, self.seed = points, seed

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        while True:
            amp, phase = 0.5 + torch.rand(1, generator=g), 3.14 * torch.rand(1, generator=g)
            x = 6 * torch.rand(self.points, 1, generator=g) - 3
            yield x, amp * torch.sin(x + phase)


def collate(tasks):
    x = torch.stack([x for x, _ in tasks])
    y = torch.stack([y for _, y in tasks])
    n_context = int(torch.randint(4, 12, ()))
    return {"x": x, "y": y, "context": slice(0, n_context)}


class NeuralProcess(nn.Module):
    def __init__(self, r=24, z=8):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(2, r), nn.ReLU(), nn.Linear(r, r))
        self.latent = nn.Linear(r, 2 * z)
        self.decode = nn.Sequential(nn.Linear(1 + z, r), nn.ReLU(), nn.Linear(r, 2))

    def encode(self, x, y):
        summary = self.point(torch.cat([x, y], -1)).mean(1)
        mu, raw = self.latent(summary).chunk(2, -1)
        return Normal(mu, 0.1 + 0.9 * torch.sigmoid(raw))

    def predict(self, x, z):
        z = z.unsqueeze(1).expand(-1, x.shape[1], -1)
        mu, raw = self.decode(torch.cat([x, z], -1)).chunk(2, -1)
        return Normal(mu, 0.1 + 0.9 * nn.functional.softplus(raw))

    def elbo(self, x, y, context):
        prior = self.encode(x[:, context], y[:, context])
        posterior = self.encode(x, y)
        fit = self.predict(x, posterior.rsample()).log_prob(y).sum((1, 2))
        return (fit - kl_divergence(posterior, prior).sum(1)).mean() / x.shape[1]


loader = DataLoader(SineTasks(), batch_size=16, collate_fn=collate)
model = NeuralProcess()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
elbos = []
for step, batch in zip(range(60), loader):
    objective = -model.elbo(**batch)
    optimizer.zero_grad()
    objective.backward()
    optimizer.step()
    elbos.append(-objective.item())
    if step % 20 == 19:
        print(f"step {step + 1}  elbo per point {sum(elbos[-20:]) / 20:.4f}")

model.eval()
with torch.no_grad():
    batch = next(iter(DataLoader(SineTasks(seed=99), batch_size=8, collate_fn=collate)))
    x, y, context = batch["x"], batch["y"], batch["context"]
    z = model.encode(x[:, context], y[:, context]).mean
    held_out = model.predict(x, z).log_prob(y).mean().item()
print(f"held-out log-likelihood {held_out:.4f}")
print(f"RESULT {elbos[-1]:.6g} {sum(elbos):.6g} {held_out:.6g}")
