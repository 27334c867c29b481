# %% [markdown]
# # GLO: no encoder, no discriminator - one free code per image
# %%
import numpy as np
import torch
from torch import nn

np.random.seed(0)
torch.manual_seed(0)

# %% make the images (tilted bars, 10x10)
N, S = 48, 10
theta_ = np.random.uniform(0, np.pi, N)
off_ = np.random.uniform(-2, 2, N)
gy, gx = np.mgrid[:S, :S] - (S - 1) / 2
dist = gx[None] * np.cos(theta_)[:, None, None] + gy[None] * np.sin(theta_)[:, None, None] - off_[:, None, None]
imgs = torch.tensor(np.exp(-dist ** 2 / 2), dtype=torch.float32)[:, None]
print(imgs.shape)

# %% initial codes: PCA, then onto the unit sphere
code_dim = 6
flat = imgs.flatten(1).numpy()
flat = flat - flat.mean(0)
U, s, Vt = np.linalg.svd(flat, full_matrices=False)
Z0 = torch.tensor(U[:, :code_dim] * np.sign(Vt[:code_dim, :1]).T, dtype=torch.float32)
Z = nn.Parameter(Z0 / Z0.norm(dim=1, keepdim=True))

# %%
gen = nn.Sequential(
    nn.Linear(code_dim, 12 * 5 * 5), nn.ReLU(), nn.Unflatten(1, (12, 5, 5)),
    nn.ConvTranspose2d(12, 8, 4, 2, 1), nn.ReLU(),
    nn.Conv2d(8, 1, 3, padding=1), nn.Sigmoid(),
)

def lap_pyramid(x, levels=2):
    out = []
    for _ in range(levels):
        small = nn.functional.avg_pool2d(x, 2, ceil_mode=True)
        out.append(x - nn.functional.interpolate(small, size=x.shape[-2:], mode='nearest'))
        x = small
    return out + [x]

def lap_l1(a, b):
    return sum(4.0 ** -j * (p - q).abs().sum((1, 2, 3)).mean() for j, (p, q) in enumerate(zip(lap_pyramid(a), lap_pyramid(b))))

# %% train both
opt = torch.optim.Adam([
    dict(params=gen.parameters(), lr=4e-3),
    dict(params=[Z], lr=2e-2),
])
losses = []
for epoch in range(8):
    perm = np.random.permutation(N)
    for b in range(0, N, 12):
        rows = torch.from_numpy(perm[b:b + 12])
        opt.zero_grad()
        loss = lap_l1(gen(Z[rows]), imgs[rows])
        loss.backward()
        opt.step()
        with torch.no_grad():
            Z /= Z.norm(dim=1, keepdim=True).clamp(min=1.0)
        losses.append(loss.item())
    print(epoch, np.round(np.mean(losses[-4:]), 4))

# %% random samples from a gaussian fitted to the codes
with torch.no_grad():
    m, C = Z.mean(0), torch.cov(Z.T)
    L = torch.linalg.cholesky(C + 1e-4 * torch.eye(code_dim))
    fantasy = gen(m + torch.randn(8, code_dim) @ L.T)
print('fantasy mean', round(fantasy.mean().item(), 4))

# %% fit the code of an unseen image, generator fixed
gen.requires_grad_(False)
target = imgs[:1].flip(-1)
z = Z.detach().mean(0, keepdim=True).clone().requires_grad_()
zopt = torch.optim.SGD([z], lr=2e-3, momentum=0.8)
for _ in range(8):
    zopt.zero_grad()
    fit = lap_l1(gen(z), target)
    fit.backward()
    zopt.step()
print('fit', round(fit.item(), 4))

# %%
print('RESULT %.6g %.6g %.6g %.6g %.6g' % (sum(p.abs().sum().item() for p in gen.parameters()), Z.abs().sum().item(),
                                       z.abs().sum().item(), losses[-1], fit.item()))
