"""Allocation de portefeuille avec coûts de transaction, apprise semaine après semaine."""
import torch
from torch import nn

torch.manual_seed(1789)

NB_ACTIFS = 5
FENETRE = 8          # jours observés
HORIZON = 5          # jours de bourse par semaine
FRAIS = 0.002
BUDGET_SEMAINES = 34


def fabriquer_cours(jours):
	tendance = torch.tensor([0.0005, 0.001, -0.0005, 0.002, 0.0])
	bruit = 0.01 * torch.randn(jours, NB_ACTIFS)
	inertie = torch.zeros(jours, NB_ACTIFS)
	for j in range(1, jours):
		inertie[j] = 0.7 * inertie[j - 1] + 0.3 * bruit[j - 1]
	return tendance + bruit + inertie


class Gerant(nn.Module):
	def __init__(self):
		super().__init__()
		self.lecture = nn.Linear(NB_ACTIFS * FENETRE + NB_ACTIFS, 16)
		self.choix = nn.Linear(16, NB_ACTIFS)

	def forward(self, passe, poids):
		entree = torch.cat([30 * passe.flatten(), poids])
		return torch.softmax(self.choix(torch.tanh(self.lecture(entree))), dim=0)


def derive(poids, rendement):
	"""Les poids bougent avec le marché avant le prochain rééquilibrage."""
	valeur = poids * (1 + rendement)
	return valeur / valeur.sum()


rendements = fabriquer_cours(FENETRE + HORIZON * 60)
gerant = Gerant()
optim = torch.optim.RMSprop(gerant.parameters(), lr=3e-3)
poids = torch.full((NB_ACTIFS,), 1 / NB_ACTIFS)
jour, semaine = FENETRE, 0
richesse, meilleure, sans_progres = 1.0, 1.0, 0
journal = []

while True:
	gains = []
	for _ in range(HORIZON):
		cible = gerant(rendements[jour - FENETRE:jour], poids)
		rotation = (cible - poids).abs().sum()
		net = torch.log1p((cible * rendements[jour]).sum() - FRAIS * rotation)
		gains.append(net)
		poids = derive(cible, rendements[jour])
		jour += 1

	g = torch.stack(gains)
	entropie = -(cible * cible.clamp_min(1e-6).log()).sum()
	perte = -100 * g.mean() + 20 * g.std() - 0.02 * entropie
	optim.zero_grad()
	perte.backward()
	nn.utils.clip_grad_norm_(gerant.parameters(), 1.0)
	optim.step()

	poids = poids.detach()
	richesse *= g.sum().exp().item()
	journal.append(perte.item())
	semaine += 1

	if richesse > meilleure:
		meilleure, sans_progres = richesse, 0
	else:
		sans_progres += 1
	if semaine % 8 == 0:
		print(f"semaine {semaine:2d}  perte {sum(journal[-8:]) / 8:+.4f}  richesse {richesse:.4f}")
	if sans_progres > 12:
		print("arrêt : plus de progrès")
		break
	if semaine == BUDGET_SEMAINES or jour + HORIZON > len(rendements):
		break

with torch.no_grad():
	essai, p = 0.0, torch.full((NB_ACTIFS,), 1 / NB_ACTIFS)
	for j in range(jour, len(rendements)):
		c = gerant(rendements[j - FENETRE:j], p)
		essai += torch.log1p((c * rendements[j]).sum() - FRAIS * (c - p).abs().sum()).item()
		p = derive(c, rendements[j])
print(f"hors échantillon : {essai:+.4f}")

norme = sum(q.detach().abs().sum().item() for q in gerant.parameters())
print("RESULT %.6g %.6g %.6g %.6g" % (norme, journal[-1], richesse, essai))
