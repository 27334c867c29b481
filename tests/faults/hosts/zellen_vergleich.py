# Vergleich von RNN-Zellen auf einem Zeichenstrom (alle nacheinander trainiert).
# Der Zustand ist je nach Zelle None, ein Tensor, ein Tupel oder ein dict.
import torch
import torch.nn as nn

TEXT = ("der hund und die katze und der vogel gehen in den wald " * 24)[:830]
ALPHABET = sorted(set(TEXT))
NUMMER = {z: i for i, z in enumerate(ALPHABET)}
BREITE, ABSCHNITT, STROEME = 20, 12, 6


class LangsamSchnell(nn.Module):
    """Zwei Gedächtnisse: eines wird jeden Schritt erneuert, das andere nur träge."""

    def __init__(self, ein, breite):
        super().__init__()
        self.schnell = nn.GRUCell(ein + breite, breite)
        self.traege = nn.Linear(breite, breite)

    def forward(self, x, zustand):
        if zustand is None:
            null = torch.zeros(x.size(0), self.traege.out_features)
            zustand = {"schnell": null, "langsam": null}
        s = self.schnell(torch.cat([x, zustand["langsam"]], 1), zustand["schnell"])
        l = 0.9 * zustand["langsam"] + 0.1 * torch.tanh(self.traege(s))
        return {"schnell": s, "langsam": l}


def ausgabe(zustand):
    if isinstance(zustand, dict):
        return zustand["schnell"] + zustand["langsam"]
    if isinstance(zustand, tuple):
        return zustand[0]
    return zustand


def loslassen(zustand):
    if zustand is None:
        return None
    if isinstance(zustand, dict):
        return {k: loslassen(v) for k, v in zustand.items()}
    if isinstance(zustand, (tuple, list)):
        return tuple(loslassen(v) for v in zustand)
    return zustand.detach()


class Sprachmodell(nn.Module):
    def __init__(self, zelle):
        super().__init__()
        self.einbettung = nn.Embedding(len(ALPHABET), BREITE)
        self.zelle = zelle
        self.ausgang = nn.Linear(BREITE, len(ALPHABET))

    def forward(self, zeichen, zustand=None):
        logits = []
        for x in self.einbettung(zeichen).unbind(1):
            zustand = self.zelle(x, zustand)
            logits.append(self.ausgang(ausgabe(zustand)))
        return torch.stack(logits, 1), zustand


def stroeme():
    ids = torch.tensor([NUMMER[z] for z in TEXT])
    n = len(ids) // STROEME
    return ids[:n * STROEME].view(STROEME, n)


def trainiere(modell, daten, lr=0.02):
    optimierer = torch.optim.Adam(modell.parameters(), lr=lr)
    kriterium = nn.CrossEntropyLoss()
    zustand, verlauf = None, []
    grenze = daten.size(1) - 2 * ABSCHNITT
    for anfang in range(0, grenze, ABSCHNITT):
        x = daten[:, anfang:anfang + ABSCHNITT]
        y = daten[:, anfang + 1:anfang + ABSCHNITT + 1]
        zustand = loslassen(zustand)
        logits, zustand = modell(x, zustand)
        verlust = kriterium(logits.flatten(0, 1), y.flatten())
        optimierer.zero_grad()
        verlust.backward()
        nn.utils.clip_grad_norm_(modell.parameters(), 1.0)
        optimierer.step()
        verlauf.append(verlust.item())
    return verlauf


def schreibe(modell, start="d", laenge=30):
    with torch.no_grad():
        z, zustand, text = torch.tensor([[NUMMER[start]]]), None, start
        for _ in range(laenge):
            logits, zustand = modell(z, zustand)
            z = logits[:, -1].argmax(-1, keepdim=True)
            text += ALPHABET[z.item()]
    return text


torch.manual_seed(1871)
daten = stroeme()
ergebnis = []
for name, baue in [
    ("elman", lambda: nn.RNNCell(BREITE, BREITE)),
    ("gru", lambda: nn.GRUCell(BREITE, BREITE)),
    ("lstm", lambda: nn.LSTMCell(BREITE, BREITE)),
    ("langsam/schnell", lambda: LangsamSchnell(BREITE, BREITE)),
]:
    modell = Sprachmodell(baue())
    verlauf = trainiere(modell, daten)
    summe = sum(p.detach().abs().sum().item() for p in modell.parameters())
    print("%-16s %.3f -> %.3f  %r" % (name, verlauf[0], verlauf[-1], schreibe(modell)))
    ergebnis += [summe, verlauf[-1]]
print("RESULT", *["%.6g" % e for e in ergebnis])
