import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

from layers import BayesNet


def assay(n=180):
    dose = torch.linspace(-3, 3, n).unsqueeze(1)
    resp = torch.sigmoid(2.0 * dose) + 0.15 * torch.sin(4 * dose)
    return TensorDataset(dose, resp + 0.05 * torch.randn(n, 1))


def elbo(model, x, y, n_data, samples, noise=0.1):
    nll = 0.0
    for _ in range(samples):
        nll = nll + ((model(x) - y) ** 2).mean() / (2 * noise**2)
    return nll / samples + model.kl() / samples / n_data


def fit(kind, epochs=3, samples=2):
    torch.manual_seed(17)
    data = assay()
    loader = DataLoader(data, batch_size=30, shuffle=True)
    model = BayesNet(1, 16, 16, 1, kl=kind)
    optim = torch.optim.Adam(model.parameters(), lr=5e-3)
    curve = []
    for epoch in range(epochs):
        model.train()
        model.reset_kl()
        total = 0.0
        for x, y in loader:
            loss = elbo(model, x, y, len(data), samples)
            optim.zero_grad()
            loss.backward()
            optim.step()
            total += loss.item()
        curve.append(total / len(loader))
        model.eval()
        with torch.no_grad():
            preds = torch.stack([model(data.tensors[0]) for _ in range(8)])
        print(f"[{kind}] epoch {epoch} -elbo {curve[-1]:.3f} spread {preds.std(0).mean():.4f}")
    return curve[-1]


if __name__ == "__main__":
    kinds = sys.argv[1:] or ["analytic", "sampled"]
    print("RESULT", *(f"{fit(k):.6f}" for k in kinds))
