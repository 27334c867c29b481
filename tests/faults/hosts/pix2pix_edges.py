"""
pix2pix on outlines -> filled shapes.
"""
from collections import OrderedDict

import numpy as np
import torch
import torch.nn as nn


class UnetSkipBlock(nn.Module):
    def __init__(self, outer_nc, inner_nc, submodule=None, outermost=False, input_nc=None):
        super().__init__()
        self.outermost = outermost
        down = nn.Conv2d(input_nc or outer_nc, inner_nc, 4, 2, 1)
        up = nn.ConvTranspose2d(inner_nc if submodule is None else inner_nc * 2, outer_nc, 4, 2, 1)
        if outermost:
            seq = [down, submodule, nn.ReLU(), up, nn.Tanh()]
        elif submodule is None:
            seq = [nn.LeakyReLU(0.2), down, nn.ReLU(), up]
        else:
            seq = [nn.LeakyReLU(0.2), down, submodule, nn.ReLU(), up]
        self.model = nn.Sequential(*seq)

    def forward(self, x):
        if self.outermost:
            return self.model(x)
        return torch.cat([x, self.model(x)], 1)


def define_G(ngf=6):
    inner = UnetSkipBlock(ngf * 2, ngf * 2)
    middle = UnetSkipBlock(ngf, ngf * 2, submodule=inner)
    return UnetSkipBlock(1, ngf, submodule=middle, outermost=True)


def define_D(ndf=6):
    return nn.Sequential(nn.Conv2d(2, ndf, 4, 2, 1), nn.LeakyReLU(0.2),
                         nn.Conv2d(ndf, ndf * 2, 3, 1, 1), nn.LeakyReLU(0.2),
                         nn.Conv2d(ndf * 2, 1, 3, 1, 1))


class GANLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('real_label', torch.tensor(1.0))
        self.register_buffer('fake_label', torch.tensor(0.0))
        self.loss = nn.BCEWithLogitsLoss()

    def __call__(self, prediction, target_is_real):
        t = self.real_label if target_is_real else self.fake_label
        return self.loss(prediction, t.expand_as(prediction))


class Pix2PixModel:
    loss_names = ['G_GAN', 'G_L1', 'D_real', 'D_fake']

    def __init__(self, lambda_L1=20.0, lr=2e-3):
        self.netG, self.netD = define_G(), define_D()
        self.criterionGAN = GANLoss()
        self.criterionL1 = nn.L1Loss()
        self.lambda_L1 = lambda_L1
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=lr, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=lr, betas=(0.5, 0.999))

    def set_input(self, input):
        self.real_A, self.real_B = input

    def forward(self):
        self.fake_B = self.netG(self.real_A)

    def backward_D(self):
        # Fake
        fake_AB = torch.cat((self.real_A, self.fake_B), 1)
        pred_fake = self.netD(fake_AB.detach())
        self.loss_D_fake = self.criterionGAN(pred_fake, False)
        # Real
        pred_real = self.netD(torch.cat((self.real_A, self.real_B), 1))
        self.loss_D_real = self.criterionGAN(pred_real, True)
        self.loss_D = (self.loss_D_fake + self.loss_D_real) * 0.5
        self.loss_D.backward()

    def backward_G(self):
        pred_fake = self.netD(torch.cat((self.real_A, self.fake_B), 1))
        self.loss_G_GAN = self.criterionGAN(pred_fake, True)
        self.loss_G_L1 = self.criterionL1(self.fake_B, self.real_B) * self.lambda_L1
        self.loss_G = self.loss_G_GAN + self.loss_G_L1
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()
        self.netD.requires_grad_(True)
        self.optimizer_D.zero_grad()
        self.backward_D()
        self.optimizer_D.step()
        self.netD.requires_grad_(False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()

    def get_current_losses(self):
        return OrderedDict((name, getattr(self, 'loss_' + name).item()) for name in self.loss_names)


def make_pairs(n, rs, size=16):
    A = -np.ones((n, 1, size, size), dtype=np.float32)
    B = A.copy()
    for k in range(n):
        y, x = rs.randint(1, 7, 2)
        h, w = rs.randint(4, 8, 2)
        B[k, 0, y:y + h, x:x + w] = 1
        A[k, 0, y:y + h, x:x + w] = 1
        A[k, 0, y + 1:y + h - 1, x + 1:x + w - 1] = -1
    return torch.from_numpy(A), torch.from_numpy(B)


if __name__ == '__main__':
    torch.manual_seed(0)
    rs = np.random.RandomState(0)
    A, B = make_pairs(32, rs)
    model = Pix2PixModel()
    total_iters = 0
    for epoch in range(1, 6):
        order = torch.randperm(len(A))
        for idx in order.split(8):
            total_iters += 1
            model.set_input((A[idx], B[idx]))
            model.optimize_parameters()
        losses = model.get_current_losses()
        print('(epoch: %d, iters: %d) ' % (epoch, total_iters) + ' '.join('%s: %.3f' % kv for kv in losses.items()))

    testA, testB = make_pairs(8, rs)
    model.netG.eval()
    with torch.no_grad():
        l1 = (model.netG(testA) - testB).abs().mean().item()
    print('test L1 %.4f' % l1)
    sizes = [sum(p.abs().sum().item() for p in net.parameters()) for net in (model.netG, model.netD)]
    print('RESULT %.6g %.6g %.6g %.6g' % (sizes[0], sizes[1], losses['G_L1'], l1))
