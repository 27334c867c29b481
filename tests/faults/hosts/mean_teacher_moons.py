# Semi-supervised two moons: mean teacher consistency, then noisy-student rounds on pseudo labels.
import copy
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def two_moons(n, noise, rng):
    angle = rng.uniform(0, math.pi, n)
    side = rng.integers(0, 2, n)
    px = np.where(side == 0, np.cos(angle), 1 - np.cos(angle))
    py = np.where(side == 0, np.sin(angle), 0.5 - np.sin(angle))
    pts = np.stack([px, py], 1) + noise * rng.standard_normal((n, 2))
    return torch.tensor(pts, dtype=torch.float32), torch.tensor(side)


def make_net(width, p_drop):
    return nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Dropout(p_drop),
                         nn.Linear(width, width), nn.ReLU(), nn.Dropout(p_drop),
                         nn.Linear(width, 2))


class MeanTeacher:
    def __init__(self, student, ema=0.9):
        self.student = student
        self.teacher = copy.deepcopy(student)
        for p in self.teacher.parameters():
            p.detach_()
        self.ema = ema
        self.global_step = 0

    def absorb(self):
        a = min(1 - 1 / (self.global_step + 1), self.ema)
        with torch.no_grad():
            for tp, sp in zip(self.teacher.parameters(), self.student.parameters()):
                tp.mul_(a).add_(sp, alpha=1 - a)
        self.global_step += 1

    def consistency(self, points):
        with torch.no_grad():
            target = F.softmax(self.teacher(points + 0.1 * torch.randn_like(points)), dim=1)
        guess = F.softmax(self.student(points + 0.1 * torch.randn_like(points)), dim=1)
        return (guess - target).pow(2).sum(1).mean()


def ramp_up(step, length):
    phase = 1.0 - min(step, length) / length
    return math.exp(-5.0 * phase * phase)


@torch.no_grad()
def accuracy(net, x, y):
    was_training = net.training
    net.eval()
    hit = (net(x).argmax(1) == y).float().mean().item()
    net.train(was_training)
    return hit


torch.manual_seed(4)
rng = np.random.default_rng(4)
unlabelled, _ = two_moons(200, 0.1, rng)
labelled, targets = two_moons(16, 0.1, rng)
test_x, test_y = two_moons(200, 0.1, rng)

# -- stage one
mt = MeanTeacher(make_net(24, 0.1))
opt = torch.optim.Adam(mt.student.parameters(), lr=1e-2)
sup_log, con_log = [], []
for step in range(22):
    u = unlabelled[torch.randperm(len(unlabelled))[:64]]
    supervised = F.cross_entropy(mt.student(labelled), targets)
    consistency = mt.consistency(u)
    objective = supervised + 8.0 * ramp_up(step, 16) * consistency
    opt.zero_grad()
    objective.backward()
    opt.step()
    mt.absorb()
    sup_log.append(supervised.item())
    con_log.append(consistency.item())
    if step % 6 == 5:
        print(f"{step + 1:3d} sup {sup_log[-1]:.4f} con {con_log[-1]:.5f} "
              f"student {accuracy(mt.student, test_x, test_y):.3f} teacher {accuracy(mt.teacher, test_x, test_y):.3f}")

# -- stage two: the student of one round labels the data of the next
labeller = mt.teacher
students, stage_two = [], []
for round_no, width in enumerate((32, 40)):
    labeller.eval()
    with torch.no_grad():
        confidence, pseudo = F.softmax(labeller(unlabelled), dim=1).max(1)
    sure = (confidence > 0.7).nonzero().squeeze(1)
    pool_x = torch.cat([unlabelled[sure], labelled])
    pool_y = torch.cat([pseudo[sure], targets])
    noisy = make_net(width, 0.3)
    opt2 = torch.optim.SGD(noisy.parameters(), lr=0.3, momentum=0.9, nesterov=True)
    for epoch in range(2):
        for rows in torch.randperm(len(pool_x)).chunk(4):
            loss = F.cross_entropy(noisy(pool_x[rows] + 0.1 * torch.randn(len(rows), 2)), pool_y[rows])
            opt2.zero_grad()
            loss.backward()
            opt2.step()
            stage_two.append(loss.item())
    print(f"round {round_no}: {len(sure)} pseudo labels, loss {np.mean(stage_two[-4:]):.4f}")
    students.append(noisy)
    labeller = noisy

final = accuracy(students[-1], test_x, test_y)
print(f"noisy student accuracy {final:.3f}")
l1 = lambda net: sum(p.abs().sum().item() for p in net.parameters())
print("RESULT", *("%.6g" % v for v in [*map(l1, (mt.student, mt.teacher, *students)), sup_log[-1], stage_two[-1]]))
