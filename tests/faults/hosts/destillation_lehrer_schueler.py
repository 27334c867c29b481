#!/usr/bin/env python3
# Wissensdestillation mit Temperatur und einem Zwischenschicht-Hinweis (FitNets).
# Der Lehrer wird kurz trainiert, danach lernt ein kleinerer Schueler von ihm.
import torch
from torch import nn, optim
import torch.nn.functional as F
from types import SimpleNamespace

einst = SimpleNamespace(klassen=5, merkmale=12, temperatur=3.0, alpha=0.7, gewicht_hinweis=0.1,
                        lehrer_schritte=15, schueler_epochen=4, stapel=32)


def daten_erzeugen(anzahl, samen):
    g = torch.Generator().manual_seed(samen)
    zentren = torch.randn(einst.klassen, einst.merkmale, generator=torch.Generator().manual_seed(1))
    y = torch.randint(0, einst.klassen, (anzahl,), generator=g)
    x = 1.4 * zentren[y] + torch.randn(anzahl, einst.merkmale, generator=g)
    return x, y


class Netz(nn.Module):
    def __init__(self, breite, tiefe):
        super().__init__()
        schichten = [nn.Linear(einst.merkmale, breite), nn.ReLU()]
        for _ in range(tiefe - 1):
            schichten += [nn.Linear(breite, breite), nn.ReLU()]
        self.rumpf = nn.Sequential(*schichten)
        self.kopf = nn.Linear(breite, einst.klassen)

    def forward(self, x):
        merkmal = self.rumpf(x)
        return self.kopf(merkmal), merkmal


def stapelweise(x, y, groesse):
    for auswahl in torch.randperm(len(x)).split(groesse):
        yield x[auswahl], y[auswahl]


def endlos(x, y, groesse):
    while True:
        yield from stapelweise(x, y, groesse)


@torch.no_grad()
def genauigkeit(netz, x, y):
    netz.eval()
    richtig = (netz(x)[0].argmax(1) == y).float().mean().item()
    netz.train()
    return richtig


def lehrer_trainieren(lehrer, x, y):
    optimierer = optim.SGD(lehrer.parameters(), lr=0.1, momentum=0.9)
    verlauf = []
    for schritt, (xb, yb) in enumerate(endlos(x, y, einst.stapel), start=1):
        verlust = F.cross_entropy(lehrer(xb)[0], yb, label_smoothing=0.05)
        optimierer.zero_grad()
        verlust.backward()
        optimierer.step()
        verlauf.append(verlust.item())
        if schritt == einst.lehrer_schritte:
            return verlauf


def destillieren(lehrer, schueler, x, y):
    bruecke = nn.Linear(10, 40, bias=False)
    T = einst.temperatur
    optimierer = optim.Adam([
        {"params": schueler.parameters(), "lr": 1e-2},
        {"params": bruecke.parameters(), "lr": 5e-3},
    ])
    verlauf = []
    lehrer.eval()
    for epoche in range(einst.schueler_epochen):
        summe, n = 0.0, 0
        for xb, yb in stapelweise(x, y, einst.stapel):
            xb = xb + 0.1 * torch.randn_like(xb)
            with torch.no_grad():
                ziel_logits, ziel_merkmal = lehrer(xb)
            logits, merkmal = schueler(xb)
            weich = F.kl_div(F.log_softmax(logits / T, 1), F.softmax(ziel_logits / T, 1), reduction="batchmean") * T * T
            hart = F.cross_entropy(logits, yb)
            hinweis = F.mse_loss(bruecke(merkmal), ziel_merkmal)
            verlust = einst.alpha * weich + (1 - einst.alpha) * hart + einst.gewicht_hinweis * hinweis
            optimierer.zero_grad()
            verlust.backward()
            optimierer.step()
            summe += verlust.item() * len(xb)
            n += len(xb)
        verlauf.append(summe / n)
        print(f"Epoche {epoche}: Verlust {verlauf[-1]:.4f}")
    return bruecke, verlauf


if __name__ == "__main__":
    torch.manual_seed(42)
    x, y = daten_erzeugen(160, 2)
    xt, yt = daten_erzeugen(100, 3)
    lehrer, schueler = Netz(40, 3), Netz(10, 1)
    lv = lehrer_trainieren(lehrer, x, y)
    print(f"Lehrer: {lv[0]:.3f} -> {lv[-1]:.3f}, Test {genauigkeit(lehrer, xt, yt):.3f}")
    bruecke, sv = destillieren(lehrer, schueler, x, y)
    print(f"Schueler: Test {genauigkeit(schueler, xt, yt):.3f}")
    betrag = lambda m: sum(p.abs().sum().item() for p in m.parameters())
    print("RESULT", " ".join("%.6g" % z for z in (betrag(lehrer), betrag(schueler), betrag(bruecke), sv[-1])))
