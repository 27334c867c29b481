# -*- coding: utf-8 -*-
# Problème inverse : retrouver g, le coefficient de traînée et le vent
# à partir de trajectoires bruitées d'un projectile.
import torch

torch.manual_seed(1789)
PAS = 0.05
HORIZON_MAX = 20


class Simulateur(torch.nn.Module):
    def __init__(self, g, log_k, vent):
        super().__init__()
        self.g = torch.nn.Parameter(torch.tensor(float(g)))
        self.log_k = torch.nn.Parameter(torch.tensor(float(log_k)))
        self.vent = torch.nn.Parameter(torch.tensor(float(vent)))

    def acceleration(self, vitesse):
        air = torch.stack([self.vent, torch.zeros(())])
        relative = vitesse - air
        norme = relative.norm(dim=-1, keepdim=True)
        pesanteur = torch.stack([torch.zeros(()), -self.g])
        return pesanteur - self.log_k.exp() * norme * relative

    def forward(self, position, vitesse, nb_pas):
        chemin = []
        for _ in range(nb_pas):
            vitesse = vitesse + PAS * self.acceleration(vitesse)
            position = position + PAS * vitesse
            chemin.append(position)
        return torch.stack(chemin, dim=1)


def observations(nb_tirs):
    verite = Simulateur(9.81, -2.5, 1.5)
    angle = 0.4 + 0.8 * torch.rand(nb_tirs)
    force = 6.0 + 4.0 * torch.rand(nb_tirs)
    v0 = torch.stack([force * angle.cos(), force * angle.sin()], dim=1)
    x0 = torch.zeros(nb_tirs, 2)
    with torch.no_grad():
        mesures = verite(x0, v0, HORIZON_MAX)
    return x0, v0, mesures + 0.02 * torch.randn_like(mesures), verite


def ajuster(modele, x0, v0, mesures, nb_iterations=36):
    optimiseur = torch.optim.Adam(
        [
            {"params": [modele.g], "lr": 0.15},
            {"params": [modele.log_k], "lr": 0.12},
            {"params": [modele.vent], "lr": 0.25},
        ]
    )
    meilleur = {"cout": float("inf"), "etat": None}
    journal = []
    for iteration in range(nb_iterations):
        # on allonge l'horizon petit à petit
        horizon = min(HORIZON_MAX, 6 + iteration)
        optimiseur.zero_grad()
        prediction = modele(x0, v0, horizon)
        cout = (prediction - mesures[:, :horizon]).square().sum(-1).mean()
        regularisation = 1e-4 * modele.vent.square()
        (cout + regularisation).backward()
        optimiseur.step()
        journal.append(cout.item())
        if horizon == HORIZON_MAX and cout.item() < meilleur["cout"]:
            meilleur["cout"] = cout.item()
            meilleur["etat"] = {nom: p.detach().clone() for nom, p in modele.named_parameters()}
        if iteration % 6 == 0:
            print(f"it {iteration:2d}  horizon {horizon:2d}  coût {cout.item():.5f}  g={modele.g.item():.3f}")
    return meilleur, journal


x0, v0, mesures, verite = observations(6)
modele = Simulateur(8.5, -3.0, 0.0)
meilleur, journal = ajuster(modele, x0, v0, mesures)

for nom, vrai in verite.named_parameters():
    print(f"{nom:6s} vrai {vrai.item():.3f}  estimé {meilleur['etat'][nom].item():.3f}")
print("RESULT", " ".join("%.6g" % p.item() for p in modele.parameters()), "%.6g" % journal[-1])
