import torch
from torch import nn
from torch.nn import functional as F


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
        self.book = nn.Embedding(12, 4)
        self.dec = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 16))

    @property
    def last_layer(self):
        return self.dec[-1].weight

    def forward(self, x):
        z = self.enc(x)
        with torch.no_grad():
            ids = torch.cdist(z, self.book.weight).argmin(-1)
        q = self.book(ids)
        commit = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return self.dec(z + (q - z).detach()), commit


def adaptive(rec, adv, layer):
    a = torch.autograd.grad(rec, layer, retain_graph=True)[0]
    b = torch.autograd.grad(adv, layer, retain_graph=True)[0]
    return (a.norm() / (b.norm() + 1e-4)).clamp(0, 1e4).detach()


torch.manual_seed(11)
codec, critic = Codec(), nn.Sequential(nn.Linear(16, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opt_c = torch.optim.Adam(codec.parameters(), lr=2e-3)
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
basis = torch.randn(4, 16)
log = []
for step in range(60):
    x = torch.tanh(torch.randn(32, 4) @ basis)
    out, commit = codec(x)
    rec = F.l1_loss(out, x)
    if step >= 20:
        adv = -critic(out).mean()
        loss = rec + commit + 0.1 * adaptive(rec, adv, codec.last_layer) * adv
    else:
        loss = rec + commit
    opt_c.zero_grad(set_to_none=True)
    loss.backward()
    opt_c.step()
    if step >= 20:
        hinge = F.relu(1 - critic(x)).mean() + F.relu(1 + critic(out.detach())).mean()
        opt_d.zero_grad(set_to_none=True)
        hinge.backward()
        opt_d.step()
    log.append(rec.item())
print(f"RESULT {log[0]:.5f} {log[-1]:.5f}")
