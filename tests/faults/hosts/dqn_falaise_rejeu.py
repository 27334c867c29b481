"""DQN (double) sur une petite falaise : mémoire de rejeu, réseau cible, epsilon décroissant."""
import random
from collections import deque, namedtuple

import torch
from torch import nn, optim

GRAINE = 17
random.seed(GRAINE)
torch.manual_seed(GRAINE)

LARGEUR, HAUTEUR = 5, 3
Transition = namedtuple("Transition", "etat action recompense suivant fini")


class Falaise:
    DEPLACEMENTS = [(0, 1), (0, -1), (1, 0), (-1, 0)]

    def __init__(self, duree_max=20):
        self.duree_max = duree_max

    def debut(self):
        self.x, self.y, self.t = 0, 0, 0
        return self.observer()

    def observer(self):
        o = torch.zeros(LARGEUR + HAUTEUR)
        o[self.x] = 1.0
        o[LARGEUR + self.y] = 1.0
        return o

    def agir(self, action):
        dx, dy = self.DEPLACEMENTS[action]
        self.x = min(max(self.x + dx, 0), LARGEUR - 1)
        self.y = min(max(self.y + dy, 0), HAUTEUR - 1)
        self.t += 1
        if self.y == 0 and 0 < self.x < LARGEUR - 1:
            return self.observer(), -1.0, True
        if self.y == 0 and self.x == LARGEUR - 1:
            return self.observer(), 1.0, True
        return self.observer(), -0.02, self.t >= self.duree_max


def reseau():
    return nn.Sequential(nn.Linear(LARGEUR + HAUTEUR, 32), nn.ReLU(), nn.Linear(32, 4))


q, q_cible = reseau(), reseau()
q_cible.load_state_dict(q.state_dict())
for p in q_cible.parameters():
    p.requires_grad_(False)

optimiseur = optim.Adam(q.parameters(), lr=5e-3)
memoire = deque(maxlen=400)
gamma, lot, periode_cible = 0.95, 32, 5


def choisir(etat, epsilon):
    if random.random() < epsilon:
        return random.randrange(4)
    with torch.no_grad():
        return q(etat).argmax().item()


def apprendre():
    echantillon = Transition(*zip(*random.sample(memoire, lot)))
    etats, suivants = torch.stack(echantillon.etat), torch.stack(echantillon.suivant)
    actions = torch.tensor(echantillon.action).unsqueeze(1)
    recompenses = torch.tensor(echantillon.recompense)
    continue_ = 1.0 - torch.tensor(echantillon.fini, dtype=torch.float32)

    valeurs = q(etats).gather(1, actions).squeeze(1)
    with torch.no_grad():
        meilleures = q(suivants).argmax(1, keepdim=True)
        cible = recompenses + gamma * continue_ * q_cible(suivants).gather(1, meilleures).squeeze(1)
    perte = nn.functional.smooth_l1_loss(valeurs, cible)
    optimiseur.zero_grad()
    perte.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 5.0)
    optimiseur.step()
    return perte.item(), valeurs.mean().item()


env, epsilon, maj = Falaise(), 1.0, 0
gains, pertes = [], []
episode, pas = 0, 0
while maj < 36:
    etat, fini, gain = env.debut(), False, 0.0
    while not fini and maj < 36:
        action = choisir(etat, epsilon)
        suivant, r, fini = env.agir(action)
        memoire.append(Transition(etat, action, r, suivant, fini))
        etat, gain, pas = suivant, gain + r, pas + 1
        if len(memoire) >= 2 * lot and pas % 3 == 0:
            perte, q_moyen = apprendre()
            pertes.append(perte)
            maj += 1
            epsilon = max(0.1, epsilon * 0.97)
            if maj % periode_cible == 0:
                q_cible.load_state_dict(q.state_dict())
            if maj % 12 == 0:
                print(f"maj {maj:2d}  perte {sum(pertes[-12:]) / 12:.4f}  q moyen {q_moyen:+.4f}  eps {epsilon:.2f}")
    gains.append(gain)
    episode += 1

print(f"{episode} episodes, gain moyen {sum(gains) / len(gains):+.3f}")
somme = lambda m: sum(p.abs().sum().item() for p in m.parameters())
print("RESULT %.6g %.6g %.6g %.6g" % (somme(q), somme(q_cible), pertes[-1], sum(gains)))
