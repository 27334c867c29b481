import torch
from torch import nn

torch.manual_seed(48)
netG = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3))
netD = nn.Sequential(nn.Linear(3, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
bce = nn.BCEWithLogitsLoss()
optD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
fixed = torch.randn(8, 4)
samples = []
for i in range(30):
    netD.zero_grad()
    real = torch.randn(16, 3).abs()
    bce(netD(real), torch.ones(16, 1)).backward()
    fake = netG(torch.randn(16, 4))
    bce(netD(fake.detach()), torch.zeros(16, 1)).backward()
    optD.step()
    netG.zero_grad()
    errG = bce(netD(fake), torch.ones(16, 1))
    errG.backward()
    optG.step()
    if i % 10 == 0:
        with torch.no_grad():
            samples.append(netG(fixed))
print(f"RESULT {errG.item():.6g} {samples[-1].mean().item():.6g}")
