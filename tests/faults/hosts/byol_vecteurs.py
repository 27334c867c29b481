"""BYOL sur des vecteurs : reseau en ligne, reseau cible, predicteur."""
import copy
from dataclasses import dataclass, field
from math import cos, pi

import torch
from torch import nn
from torch.nn.functional import normalize


@dataclass
class Etat:
    encodeur: nn.Module
    predicteur: nn.Module
    cible: nn.Module
    optimiseur: torch.optim.Optimizer
    pas: int = 0
    pas_total: int = 24
    tau_depart: float = 0.9
    journal: list = field(default_factory=list)

    @property
    def tau(self):
        return 1 - (1 - self.tau_depart) * (cos(pi * self.pas / self.pas_total) + 1) / 2


def perceptron(entree, cachee, sortie):
    return nn.Sequential(nn.Linear(entree, cachee), nn.BatchNorm1d(cachee), nn.ReLU(), nn.Linear(cachee, sortie))


def construire():
    encodeur = nn.Sequential(perceptron(10, 32, 16), perceptron(16, 24, 8))
    predicteur = perceptron(8, 16, 8)
    cible = copy.deepcopy(encodeur)
    cible.requires_grad_(False)
    params = [*encodeur.parameters(), *predicteur.parameters()]
    return Etat(encodeur, predicteur, cible, torch.optim.AdamW(params, lr=6e-3, weight_decay=1e-3))


def bruiter(x):
    masque = (torch.rand_like(x) > 0.15).float()
    return x * masque + 0.2 * torch.randn_like(x)


def regression(p, z):
    return 2 - 2 * (normalize(p, dim=-1) * normalize(z, dim=-1)).sum(-1).mean()


@torch.no_grad()
def moyenne_mobile(etat):
    for lent, rapide in zip(etat.cible.parameters(), etat.encodeur.parameters()):
        lent.lerp_(rapide, 1 - etat.tau)
    for lent, rapide in zip(etat.cible.buffers(), etat.encodeur.buffers()):
        lent.copy_(rapide)


def un_pas(etat, x):
    vue1, vue2 = bruiter(x), bruiter(x)
    p1 = etat.predicteur(etat.encodeur(vue1))
    p2 = etat.predicteur(etat.encodeur(vue2))
    with torch.no_grad():
        z1, z2 = etat.cible(vue1), etat.cible(vue2)
    perte = regression(p1, z2) + regression(p2, z1)

    etat.optimiseur.zero_grad(set_to_none=True)
    perte.backward()
    etat.optimiseur.step()
    moyenne_mobile(etat)
    etat.pas += 1

    with torch.no_grad():
        etalement = normalize(p1, dim=-1).std(0).mean().item()
    etat.journal.append((perte.item(), etalement))


def main():
    torch.manual_seed(101)
    base = torch.randn(4, 10) * 1.5
    donnees = base.repeat_interleave(32, 0) + 0.4 * torch.randn(128, 10)
    etat = construire()
    while etat.pas < etat.pas_total:
        for lot in donnees[torch.randperm(128)].split(32):
            un_pas(etat, lot)
        perte, etalement = etat.journal[-1]
        print(f"pas {etat.pas:2d}  perte {perte:.4f}  ecart-type {etalement:.4f}  tau {etat.tau:.4f}")

    etat.encodeur.eval()
    with torch.no_grad():
        z = normalize(etat.encodeur(donnees), dim=-1)
        meme = torch.arange(4).repeat_interleave(32)
        sim = z @ z.T
        contraste = (sim[meme[:, None] == meme].mean() - sim[meme[:, None] != meme].mean()).item()
    print(f"contraste intra/inter {contraste:.4f}")
    norme = [sum(p.abs().sum().item() for p in m.parameters()) for m in (etat.encodeur, etat.predicteur, etat.cible)]
    print("RESULT " + " ".join(f"{v:.6g}" for v in [*norme, etat.journal[-1][0]]))


if __name__ == "__main__":
    main()
