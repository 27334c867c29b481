import torch
import torch.nn as nn
import torch.nn.functional as F

# Dual discriminator GAN (Nguyen et al. 2017); the generator is held near the
# running mean of its own past weights (Salimans et al. 2016).

OPTIONS = {'alpha': 0.3, 'beta': 0.3, 'history': 0.02, 'zdim': 6, 'batch': 40, 'rounds': 13}


def network(kind):
    if kind == 'G':
        return nn.Sequential(nn.Linear(OPTIONS['zdim'], 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Softplus())


class WeightHistory:
    def __init__(self, module):
        self.module = module
        self.mean = [p.detach().clone() for p in module.parameters()]
        self.count = 1

    def distance(self):
        total = 0.
        for p, m in zip(self.module.parameters(), self.mean):
            total = total + (p - m).pow(2).sum()
        return total

    def record(self):
        self.count += 1
        with torch.no_grad():
            for p, m in zip(self.module.parameters(), self.mean):
                m += (p - m) / self.count


def loss_D1(nets, real, fake):
    return -OPTIONS['alpha'] * torch.log(nets['D1'](real) + 1e-6).mean() + nets['D1'](fake).mean()


def loss_D2(nets, real, fake):
    return nets['D2'](real).mean() - OPTIONS['beta'] * torch.log(nets['D2'](fake) + 1e-6).mean()


def loss_G(nets, fake):
    return -nets['D1'](fake).mean() + OPTIONS['beta'] * torch.log(nets['D2'](fake) + 1e-6).mean()


def real_samples(n):
    side = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return torch.cat([side, torch.zeros(n, 1)], 1) + 0.15 * torch.randn(n, 2)


def play():
    nets = {name: network(name) for name in ('G', 'D1', 'D2')}
    opts = {}
    for name, net in nets.items():
        opts[name] = torch.optim.Adam(net.parameters(), lr=2e-3 if name == 'G' else 1e-3, betas=(0.5, 0.999))
    past = WeightHistory(nets['G'])
    table = {name: [] for name in nets}
    table['history'] = []

    for r in range(OPTIONS['rounds']):
        real = real_samples(OPTIONS['batch'])
        fake = nets['G'](torch.randn(OPTIONS['batch'], OPTIONS['zdim'])).detach()
        for name, criterion in (('D1', loss_D1), ('D2', loss_D2)):
            opts[name].zero_grad()
            value = criterion(nets, real, fake)
            value.backward()
            opts[name].step()
            table[name].append(value.item())

        opts['G'].zero_grad()
        fake = nets['G'](torch.randn(OPTIONS['batch'], OPTIONS['zdim']))
        adversarial = loss_G(nets, fake)
        pull = past.distance()
        (adversarial + OPTIONS['history'] * pull).backward()
        opts['G'].step()
        past.record()
        table['G'].append(adversarial.item())
        table['history'].append(pull.item())

        if not (r + 1) % 4:
            print('round %d:' % (r + 1), ', '.join('%s %.4f' % (k, v[-1]) for k, v in table.items()))
    return nets, past, table


if __name__ == '__main__':
    torch.manual_seed(404)
    nets, past, table = play()
    out = [sum(w.abs().sum().item() for w in net.parameters()) for net in nets.values()]
    out.append(sum(m.abs().sum().item() for m in past.mean))
    out += [v[-1] for v in table.values()]
    print('RESULT', ' '.join(['%.6g' % o for o in out]))
