# BiGAN (Donahue et al. 2017) auf kuenstlichen Tabellendaten
import torch
import torch.nn as nn

torch.manual_seed(1871)

LATENT = 2
BREITE = 24
MERKMALE = 5


def erzeuge_daten(anzahl, keim=8):
    zufall = torch.Generator().manual_seed(keim)
    ursache = torch.randn(anzahl, LATENT, generator=zufall)
    mischung = torch.randn(LATENT, MERKMALE, generator=zufall)
    return torch.tanh(ursache @ mischung) + 0.05 * torch.randn(anzahl, MERKMALE, generator=zufall)


class Kodierer(nn.Module):
    def __init__(self):
        super().__init__()
        self.schichten = nn.Sequential(nn.Linear(MERKMALE, BREITE), nn.ELU(), nn.Linear(BREITE, LATENT))

    def forward(self, x):
        return self.schichten(x)


class Erzeuger(nn.Module):
    def __init__(self):
        super().__init__()
        self.schichten = nn.Sequential(nn.Linear(LATENT, BREITE), nn.ELU(), nn.Linear(BREITE, MERKMALE))

    def forward(self, z):
        return self.schichten(z)


class Richter(nn.Module):
    """urteilt ueber Paare (x, z)"""

    def __init__(self):
        super().__init__()
        self.schichten = nn.Sequential(
            nn.Linear(MERKMALE + LATENT, BREITE), nn.LeakyReLU(0.2),
            nn.Linear(BREITE, BREITE), nn.LeakyReLU(0.2),
            nn.Linear(BREITE, 1),
        )

    def forward(self, x, z):
        return self.schichten(torch.cat((x, z), dim=1)).squeeze(1)


def verlust(urteil, soll):
    return nn.functional.binary_cross_entropy_with_logits(urteil, torch.full_like(urteil, soll))


def main():
    daten = erzeuge_daten(128)
    kodierer, erzeuger, richter = Kodierer(), Erzeuger(), Richter()
    optimierer_eg = torch.optim.Adam(list(kodierer.parameters()) + list(erzeuger.parameters()), lr=4e-3, betas=(0.5, 0.999))
    optimierer_r = torch.optim.Adam(richter.parameters(), lr=2e-3, betas=(0.5, 0.999))

    verlauf = []
    schritt, max_schritte = 0, 18
    while schritt < max_schritte:
        for auswahl in torch.randperm(len(daten)).split(32):
            x_echt = daten[auswahl]
            z_echt = torch.randn(len(x_echt), LATENT)
            z_kodiert = kodierer(x_echt)
            x_erzeugt = erzeuger(z_echt)

            # Richter
            verlust_r = verlust(richter(x_echt, z_kodiert.detach()), 1.0) + verlust(richter(x_erzeugt.detach(), z_echt), 0.0)
            optimierer_r.zero_grad()
            verlust_r.backward()
            optimierer_r.step()

            # Kodierer und Erzeuger mit vertauschten Zielen
            verlust_eg = verlust(richter(x_echt, z_kodiert), 0.0) + verlust(richter(x_erzeugt, z_echt), 1.0)
            optimierer_eg.zero_grad()
            verlust_eg.backward()
            optimierer_eg.step()

            schritt += 1
            verlauf.append((verlust_r.item(), verlust_eg.item()))
            if schritt % 6 == 0:
                print(f'Schritt {schritt}: Richter {verlauf[-1][0]:.4f}, Kodierer+Erzeuger {verlauf[-1][1]:.4f}')
            if schritt >= max_schritte:
                break

    with torch.no_grad():
        rueckweg = (erzeuger(kodierer(daten)) - daten).pow(2).mean().item()
    print(f'Rekonstruktionsfehler {rueckweg:.4f}')

    def betrag(netz):
        return sum(p.detach().abs().sum().item() for p in netz.parameters())

    print('RESULT %.6g %.6g %.6g %.6g %.6g' % (betrag(kodierer), betrag(erzeuger), betrag(richter), verlauf[-1][0], rueckweg))


main()
