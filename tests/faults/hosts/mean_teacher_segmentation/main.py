import math

import torch
from torch import nn
from torch.nn import functional as F

from cells import dataset, jitter
from ema import EMA


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class SegNet(nn.Module):
    def __init__(self, w=6):
        super().__init__()
        self.down = block(1, w)
        self.mid = block(w, 2 * w)
        self.up = block(3 * w, w)
        self.head = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.down(x)
        b = F.interpolate(self.mid(F.max_pool2d(a, 2)), scale_factor=2)
        return self.head(self.up(torch.cat([a, b], 1)))


def rampup(step, length, top):
    return top * math.exp(-5 * (1 - min(step / length, 1)) ** 2)


def iou(logits, mask):
    p, m = logits > 0, mask > 0.5
    return ((p & m).sum() / (p | m).sum()).item()


torch.manual_seed(71)
xl, yl = dataset(8, seed=1)
xu, _ = dataset(48, seed=2)
xv, yv = dataset(24, seed=3)

student = SegNet()
teacher = EMA(student, decay=0.95)
opt = torch.optim.AdamW(student.parameters(), lr=1e-2, weight_decay=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=30)

for step in range(30):
    lab = torch.randperm(len(xl))[:4]
    unl = xu[torch.randperm(len(xu))[:8]]

    soft = teacher(jitter(unl)).sigmoid()
    both = student(jitter(torch.cat([xl[lab], unl])))
    sup = F.binary_cross_entropy_with_logits(both[:4], yl[lab])
    cons = F.mse_loss(both[4:].sigmoid(), soft)
    loss = sup + rampup(step, 15, top=4.0) * cons

    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    sched.step()
    teacher.update(student)

    if step % 10 == 9:
        student.eval()
        teacher.net.eval()
        with torch.no_grad():
            scores = iou(student(xv), yv), iou(teacher(xv), yv)
        student.train()
        teacher.net.train()
        print("%3d sup %.4f cons %.5f | iou student %.4f teacher %.4f" % (step, sup.item(), cons.item(), *scores))

s = sum(p.detach().abs().sum().item() for p in student.parameters())
t = sum(p.abs().sum().item() for p in teacher.net.parameters())
print("RESULT %.6g %.6g %.6g %.6g %.6g %.6g" % (s, t, sup.item(), cons.item(), *scores))
