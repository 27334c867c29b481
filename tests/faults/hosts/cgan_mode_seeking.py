import argparse
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm as SN

ap = argparse.ArgumentParser()
ap.add_argument('--n_classes', default=4, type=int)
ap.add_argument('--nz', default=3, type=int)
ap.add_argument('--bs', default=32, type=int)
ap.add_argument('--iters', default=12, type=int)
ap.add_argument('--d_iters', default=2, type=int)
ap.add_argument('--lambda_ms', default=0.5, type=float)
ap.add_argument('--seed', default=90, type=int)
args = ap.parse_args()
torch.manual_seed(args.seed)


class CondGen(nn.Module):
    def __init__(self, nz, ncls, nh=32):
        super().__init__()
        self.emb = nn.Embedding(ncls, nh)
        self.l1 = nn.Linear(nz, nh)
        self.l2 = nn.Linear(nh, nh)
        self.out = nn.Linear(nh, 2)

    def forward(self, z, y):
        h = torch.relu(self.l1(z) + self.emb(y))
        h = torch.relu(self.l2(h)) + h
        return self.out(h)


class ProjDisc(nn.Module):
    """projection discriminator: psi(phi(x)) + <emb(y), phi(x)>"""
    def __init__(self, ncls, nh=32):
        super().__init__()
        self.phi = nn.Sequential(SN(nn.Linear(2, nh)), nn.LeakyReLU(0.1), SN(nn.Linear(nh, nh)), nn.LeakyReLU(0.1))
        self.psi = SN(nn.Linear(nh, 1, bias=False))
        self.emb = SN(nn.Embedding(ncls, nh))

    def forward(self, x, y):
        h = self.phi(x)
        return self.psi(h).squeeze(1) + (self.emb(y) * h).sum(1)


def sample_real(bs):
    # each class is a pair of blobs
    y = torch.randint(args.n_classes, (bs,))
    a = y * (2 * 3.1415926 / args.n_classes)
    r = 0.7 + 0.6 * torch.randint(2, (bs,))
    return torch.stack([r * torch.cos(a), r * torch.sin(a)], 1) + 0.05 * torch.randn(bs, 2), y


def mode_seeking(x1, x2, z1, z2):
    ratio = (x1 - x2).abs().mean(1) / (z1 - z2).abs().mean(1)
    return 1.0 / (ratio.mean() + 1e-5)


gen = CondGen(args.nz, args.n_classes)
dis = ProjDisc(args.n_classes)
opt_gen = torch.optim.Adam(gen.parameters(), 3e-3, (0.0, 0.9))
opt_dis = torch.optim.Adam(dis.parameters(), 6e-3, (0.0, 0.9))

log = {}
for n_iter in range(1, args.iters + 1):
    for _ in range(args.d_iters):
        x, y = sample_real(args.bs)
        with torch.no_grad():
            x_fake = gen(torch.randn(args.bs, args.nz), y)
        d_real, d_fake = dis(torch.cat([x, x_fake]), torch.cat([y, y])).chunk(2)
        loss_d = torch.relu(1 - d_real).mean() + torch.relu(1 + d_fake).mean()
        opt_dis.zero_grad()
        loss_d.backward()
        opt_dis.step()
        log['d'] = loss_d.item()

    y = torch.randint(args.n_classes, (args.bs,))
    z = torch.randn(2 * args.bs, args.nz)
    x_fake = gen(z, torch.cat([y, y]))
    loss_adv = -dis(x_fake, torch.cat([y, y])).mean()
    loss_ms = mode_seeking(*x_fake.chunk(2), *z.chunk(2))
    opt_gen.zero_grad()
    (loss_adv + args.lambda_ms * loss_ms).backward()
    opt_gen.step()
    log['adv'], log['ms'] = loss_adv.item(), loss_ms.item()

    if n_iter % 4 == 0:
        gen.eval(), dis.eval()
        with torch.no_grad():
            per_class = []
            for c in range(args.n_classes):
                pts = gen(torch.randn(50, args.nz), torch.full((50,), c))
                per_class.append(pts.std(0).mean().item())
        gen.train(), dis.train()
        print('iter %d' % n_iter, ' '.join('%s %.4f' % i for i in log.items()), '| spread', ' '.join('%.3f' % s for s in per_class))

print('RESULT %.6g %.6g %.6g %.6g %.6g %.6g' % (
    sum(p.detach().abs().sum().item() for p in gen.parameters()),
    sum(p.detach().abs().sum().item() for p in dis.parameters()),
    log['d'], log['adv'], log['ms'], sum(per_class)))
