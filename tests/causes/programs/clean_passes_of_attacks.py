# clean
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def made():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def batch():
    return torch.randn(6, 4), torch.randint(0, 2, (6,))


def every_ascent_is_trained_on(times=6):
    net, trainer = made()
    for _ in range(times):
        x, y = batch()
        trainer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        noise = torch.zeros_like(x, requires_grad=True)
        for _ in range(3):
            (F.cross_entropy(net(x + noise), y) / 3).backward()
            with torch.no_grad():
                noise += 0.1 * noise.grad.sign()
            noise.grad = None
        trainer.step()


def clean_and_attacked(times=6):
    net, trainer = made()
    for _ in range(times):
        x, y = batch()
        trainer.zero_grad()
        x.requires_grad_()
        (0.5 * F.cross_entropy(net(x), y)).backward()
        with torch.no_grad():
            x += 0.1 * x.grad.sign()
        (0.5 * F.cross_entropy(net(x.detach()), y)).backward()
        trainer.step()


def cleared_behind_the_attack(times=6):
    net, trainer = made()
    for _ in range(times):
        x, y = batch()
        noise = torch.zeros_like(x, requires_grad=True)
        for _ in range(3):
            F.cross_entropy(net(x + noise), y).backward()
            noise.data += 0.1 * noise.grad.sign()
            noise.grad.zero_()
        trainer.zero_grad()
        F.cross_entropy(net(x + noise.detach()), y).backward()
        trainer.step()


def only_the_noise(times=6):
    net, trainer = made()
    for _ in range(times):
        x, y = batch()
        trainer.zero_grad()
        noise = torch.zeros_like(x, requires_grad=True)
        for _ in range(3):
            F.cross_entropy(net(x + noise), y).backward(inputs=[noise])
            noise.data += 0.1 * noise.grad.sign()
            noise.grad.zero_()
        F.cross_entropy(net(x + noise.detach()), y).backward()
        trainer.step()


def parts_and_a_penalty(times=6):
    net, trainer = made()
    warmth = torch.ones(1, requires_grad=True)
    for _ in range(times):
        trainer.zero_grad()
        for _ in range(3):
            x, y = batch()
            (F.cross_entropy(net(x) * warmth, y) / 3).backward()
        (1e-3 * sum(p.pow(2).sum() for p in net.parameters())).backward()
        trainer.step()


def codes_by_hand(times=6):
    net, trainer = made()
    code = torch.zeros(6, 4, requires_grad=True)
    for _ in range(times):
        x, _ = batch()
        trainer.zero_grad()
        F.mse_loss(net(code), x[:, :2]).backward()
        with torch.no_grad():
            code -= 0.1 * code.grad
        code.grad = None
        (1e-3 * net[0].weight.pow(2).sum() + 1e-3 * net[2].weight.pow(2).sum()).backward()
        trainer.step()


every_ascent_is_trained_on()
clean_and_attacked()
cleared_behind_the_attack()
only_the_noise()
parts_and_a_penalty()
codes_by_hand()
