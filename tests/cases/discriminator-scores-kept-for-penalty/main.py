import torch
from torch import nn
import torch.nn.functional as F


class ImagePool:
    """Fifty fakes of earlier steps, so that the discriminator does not forget them."""

    def __init__(self, size):
        self.size, self.images = size, []

    def query(self, batch):
        out = []
        for image in batch:
            if len(self.images) < self.size:
                self.images.append(image)
                out.append(image)
            elif torch.rand(()) < 0.5:
                i = int(torch.randint(self.size, ()))
                out.append(self.images[i])
                self.images[i] = image
            else:
                out.append(image)
        return torch.stack(out)


torch.manual_seed(25)
G = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 4))
D = nn.Sequential(nn.Linear(4, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opt_G = torch.optim.Adam(G.parameters(), lr=2e-3)
opt_D = torch.optim.Adam(D.parameters(), lr=2e-3)
pool = ImagePool(24)
for step in range(40):
    real = torch.randn(8, 4) * 0.5 + 1
    fake = G(torch.randn(8, 3))
    loss_G = F.softplus(-D(fake)).mean()
    opt_G.zero_grad()
    loss_G.backward()
    opt_G.step()

    judged = D(pool.query(G(torch.randn(8, 3))))
    loss_D = F.softplus(-D(real)).mean() + F.softplus(judged).mean()
    opt_D.zero_grad()
    loss_D.backward()
    opt_D.step()
print(f"RESULT {loss_G.item():.6g} {loss_D.item():.6g}")
