import torch
from torch import nn


class Pix2Pix:
    def __init__(self, dim=6, lr=2e-3):
        self.netG = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, dim))
        self.netD = nn.Sequential(nn.Linear(2 * dim, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
        self.gan, self.l1 = nn.BCEWithLogitsLoss(), nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=lr, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=lr, betas=(0.5, 0.999))

    def set_input(self, pair):
        self.real_A, self.real_B = pair

    def forward(self):
        self.fake_B = self.netG(self.real_A)

    def backward_D(self):
        fake_AB = torch.cat((self.real_A, self.fake_B), 1)
        pred_fake = self.netD(fake_AB.detach())
        loss_fake = self.gan(pred_fake, torch.zeros_like(pred_fake))
        pred_real = self.netD(torch.cat((self.real_A, self.real_B), 1))
        loss_real = self.gan(pred_real, torch.ones_like(pred_real))
        self.loss_D = (loss_fake + loss_real) * 0.5
        self.loss_D.backward()

    def backward_G(self):
        pred_fake = self.netD(torch.cat((self.real_A, self.fake_B), 1))
        self.loss_G = self.gan(pred_fake, torch.ones_like(pred_fake)) + 10.0 * self.l1(self.fake_B, self.real_B)
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()
        self.optimizer_D.zero_grad()
        self.backward_D()
        self.optimizer_D.step()
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
