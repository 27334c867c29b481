# kind: detach
# cause: crossed-networks
# carrier: self.fake
import torch
from torch import nn


class GAN:
    def __init__(self):
        self.netG, self.netD = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        self.opt_G = torch.optim.SGD(self.netG.parameters(), lr=0.05)
        self.opt_D = torch.optim.SGD(self.netD.parameters(), lr=0.05)

    def forward(self, z):
        self.fake = torch.tanh(self.netG(z))  #@built

    def step_D(self, real):
        self.opt_D.zero_grad()
        loss = nn.functional.softplus(-self.netD(real)).mean() + nn.functional.softplus(
            self.netD(self.fake)  #-
            self.netD(self.fake.detach())  #+
        ).mean()
        loss.backward()  #@freed
        self.opt_D.step()

    def step_G(self):
        self.opt_G.zero_grad()
        loss = nn.functional.softplus(-self.netD(self.fake)).mean()
        loss.backward()  #@failed
        self.opt_G.step()
        return loss.item()


torch.manual_seed(6)
gan = GAN()
for _ in range(6):
    gan.forward(torch.randn(8, 3))
    gan.step_D(torch.randn(8, 2) + 1)
    last = gan.step_G()
print("RESULT", last, gan.netG.weight.sum().item(), gan.netD[0].weight.sum().item())
