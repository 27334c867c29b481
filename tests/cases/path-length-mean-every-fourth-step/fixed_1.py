import torch
from torch import nn
from torch.nn import functional as F


class Generator(nn.Module):
    def __init__(self, z=4, w=8, out=12):
        super().__init__()
        self.mapping = nn.Sequential(nn.Linear(z, w), nn.LeakyReLU(0.2), nn.Linear(w, w))
        self.synthesis = nn.Sequential(nn.Linear(w, 24), nn.LeakyReLU(0.2), nn.Linear(24, out))


class PathLength:
    def __init__(self, decay=0.05):
        self.mean, self.decay = torch.zeros(()), decay

    def __call__(self, gen, z):
        w = gen.mapping(z)
        fake = gen.synthesis(w)
        noise = torch.randn_like(fake) / fake.size(1) ** 0.5
        grad, = torch.autograd.grad((fake * noise).sum(), w, create_graph=True)
        lengths = grad.pow(2).sum(-1).sqrt()
        self.mean = self.mean + self.decay * (lengths.mean().detach() - self.mean)
        return (lengths - self.mean).pow(2).mean()


def main():
    torch.manual_seed(74)
    gen = Generator()
    disc = nn.Sequential(nn.Linear(12, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.99))
    opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.0, 0.99))
    path = PathLength()
    for step in range(1, 41):
        real = torch.randn(32, 12).cumsum(-1) / 4
        with torch.no_grad():
            fake = gen.synthesis(gen.mapping(torch.randn(32, 4)))
        d_loss = F.softplus(-disc(real)).mean() + F.softplus(disc(fake)).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        g_loss = F.softplus(-disc(gen.synthesis(gen.mapping(torch.randn(32, 4))))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        if step % 4 == 0:
            opt_g.zero_grad()
            (2.0 * path(gen, torch.randn(16, 4))).backward()
            opt_g.step()
    print(f"RESULT {d_loss.item():.5f} {g_loss.item():.5f}")


main()
