import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, dim=12, latent=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, 16), nn.ELU())
        self.mu, self.logvar = nn.Linear(16, latent), nn.Linear(16, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 16), nn.ELU(), nn.Linear(16, dim))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def train(model, loader, epochs, beta):
    opt = optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        rec_sum = kl_sum = 0.0
        for (x,) in loader:
            opt.zero_grad()
            recon, mu, logvar = model(x)
            rec = (recon - x).pow(2).sum(1).mean()
            kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
            rec_sum, kl_sum = rec_sum + rec.item(), kl_sum + kl.item()
            step(rec, kl, beta)
            opt.step()
        print(f"epoch {epoch}: rec {rec_sum / len(loader):.4f} kl {kl_sum / len(loader):.4f}")
    return rec_sum, kl_sum


def step(rec, kl, beta):
    if beta:
        rec.backward()
        (beta * kl).backward()
    else:
        rec.backward()


if __name__ == "__main__":
    torch.manual_seed(8)
    x = torch.randn(160, 3) @ torch.randn(3, 12)
    vae = VAE()
    sums = train(vae, DataLoader(TensorDataset(x), batch_size=20, shuffle=True), epochs=3, beta=0.5)
    print("RESULT", *(f"{s:.6g}" for s in sums))
