# Deep-Ritz-Verfahren fuer -Laplace(u) = f im Einheitsquadrat, u = 0 am Rand
import math
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, breite):
        super().__init__()
        self.eins = nn.Linear(breite, breite)
        self.zwei = nn.Linear(breite, breite)

    def forward(self, z):
        return z + torch.tanh(self.zwei(torch.tanh(self.eins(z))))


class Ansatz(nn.Module):
    def __init__(self, breite=20, tiefe=2):
        super().__init__()
        self.eingang = nn.Linear(2, breite)
        self.bloecke = nn.Sequential(*[Block(breite) for _ in range(tiefe)])
        self.ausgang = nn.Linear(breite, 1)

    def forward(self, punkte):
        return self.ausgang(self.bloecke(torch.sin(math.pi * self.eingang(punkte)))).squeeze(-1)


def quelle(punkte):
    x, y = punkte.unbind(-1)
    return 2 * math.pi ** 2 * torch.sin(math.pi * x) * torch.sin(math.pi * y)


def loesung(punkte):
    x, y = punkte.unbind(-1)
    return torch.sin(math.pi * x) * torch.sin(math.pi * y)


def innere_punkte(anzahl, zufall):
    return torch.rand(anzahl, 2, generator=zufall).requires_grad_()


def rand_punkte(anzahl, zufall):
    lauf = torch.rand(anzahl, generator=zufall)
    null, eins = torch.zeros(anzahl), torch.ones(anzahl)
    seiten = [(lauf, null), (lauf, eins), (null, lauf), (eins, lauf)]
    return torch.cat([torch.stack(s, -1) for s in seiten])


def energie(u, innen):
    werte = u(innen)
    gradient, = torch.autograd.grad(werte.sum(), innen, create_graph=True)
    return (0.5 * gradient.square().sum(-1) - quelle(innen.detach()) * werte).mean()


def randstrafe(u, rand):
    return u(rand).square().mean()


def fehler(u, n=15):
    achse = torch.linspace(0, 1, n)
    gitter = torch.cartesian_prod(achse, achse)
    with torch.no_grad():
        wahr = loesung(gitter)
        return ((u(gitter) - wahr).norm() / wahr.norm()).item()


def hauptprogramm():
    torch.manual_seed(1908)
    zufall = torch.Generator().manual_seed(5)
    u = Ansatz()
    optimierer = torch.optim.Adam(u.parameters(), lr=0.02)
    plan = torch.optim.lr_scheduler.MultiStepLR(optimierer, milestones=[20, 30], gamma=0.5)
    beta = 30.0
    verlauf = []
    print('Anfangsfehler %.4f' % fehler(u))
    for schritt in range(1, 41):
        innen = innere_punkte(200, zufall)
        rand = rand_punkte(16, zufall)
        E = energie(u, innen)
        R = randstrafe(u, rand)
        optimierer.zero_grad(set_to_none=True)
        (E + beta * R).backward()
        optimierer.step()
        plan.step()
        verlauf.append((E.item(), R.item()))
        if schritt % 10 == 0:
            print('Schritt %3d  Energie %8.4f  Rand %.5f  rel. Fehler %.4f' % (schritt, *verlauf[-1], fehler(u)))
    gewicht = sum(p.detach().abs().sum().item() for p in u.parameters())
    print('RESULT %.6g %.6g %.6g %.6g' % (gewicht, *verlauf[-1], fehler(u)))


if __name__ == '__main__':
    hauptprogramm()
