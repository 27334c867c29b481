# toy DCGAN, 8x8 gaussian blobs
from __future__ import print_function
import torch
import torch.nn as nn
import torch.optim as optim

manualSeed = 999
torch.manual_seed(manualSeed)

nz = 16
ngf = 8
ndf = 8
niter = 4
batchSize = 16
lr = 0.002
beta1 = 0.5


def make_blobs(n):
    g = torch.Generator().manual_seed(3)
    yy, xx = torch.meshgrid(torch.arange(8.), torch.arange(8.), indexing='ij')
    cx = 2 + 4 * torch.rand(n, 1, 1, generator=g)
    cy = 2 + 4 * torch.rand(n, 1, 1, generator=g)
    s = 1 + torch.rand(n, 1, 1, generator=g)
    img = torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * s ** 2))
    return (img * 2 - 1).unsqueeze(1)


dataset = torch.utils.data.TensorDataset(make_blobs(80))
dataloader = torch.utils.data.DataLoader(dataset, batch_size=batchSize, shuffle=True)


# custom weights initialization called on netG and netD
def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        nn.init.normal_(m.weight, 0.0, 0.05)
    elif classname.find('BatchNorm') != -1:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 2, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            # state size. (ngf*2) x 2 x 2
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            # state size. (ngf) x 4 x 4
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh()
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 2, 1, 0, bias=False),
            nn.Sigmoid()
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


netG = Generator()
netG.apply(weights_init)
netD = Discriminator()
netD.apply(weights_init)

criterion = nn.BCELoss()
fixed_noise = torch.randn(batchSize, nz, 1, 1)
real_label = 1.
fake_label = 0.

# setup optimizer
optimizerD = optim.Adam(netD.parameters(), lr=lr, betas=(beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=lr, betas=(beta1, 0.999))

G_losses, D_losses = [], []
for epoch in range(niter):
    for i, data in enumerate(dataloader, 0):
        # (1) Update D network: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        real_cpu = data[0]
        batch_size = real_cpu.size(0)
        label = torch.full((batch_size,), real_label)
        output = netD(real_cpu)
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.mean().item()

        # train with fake
        noise = torch.randn(batch_size, nz, 1, 1)
        fake = netG(noise)
        label.fill_(fake_label)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        D_G_z1 = output.mean().item()
        errD = errD_real.item() + errD_fake.item()
        optimizerD.step()

        # (2) Update G network: maximize log(D(G(z)))
        netG.zero_grad()
        output = netD(fake)
        errG = criterion(output, torch.full((batch_size,), real_label))
        errG.backward()
        D_G_z2 = output.mean().item()
        optimizerG.step()

        G_losses.append(errG.item())
        D_losses.append(errD)
    print('[%d/%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f D(G(z)): %.4f / %.4f'
          % (epoch, niter, errD, errG.item(), D_x, D_G_z1, D_G_z2))

    with torch.no_grad():
        samples = netG(fixed_noise)
    print('   sample mean %.4f std %.4f' % (samples.mean(), samples.std()))

norm = lambda m: sum(p.abs().sum().item() for p in m.parameters())
print('RESULT %.6g %.6g %.6g %.6g' % (norm(netG), norm(netD), G_losses[-1], D_losses[-1]))
