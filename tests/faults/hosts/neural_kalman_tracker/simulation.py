import torch


def bahnen(anzahl, schritte, saat):
    """Erzeugt wahre Bahnen (Ort, Geschwindigkeit) und verrauschte Messungen des Orts."""
    g = torch.Generator().manual_seed(saat)
    zustand = torch.randn(anzahl, 2, generator=g)
    orte, messungen = [], []
    for _ in range(schritte):
        ort, v = zustand.unbind(-1)
        v = v - 0.15 * torch.sin(ort) + 0.02 * torch.randn(anzahl, generator=g)
        ort = ort + 0.3 * v
        zustand = torch.stack([ort, v], -1)
        orte.append(zustand)
        rauschen = 0.2 + 0.1 * ort.abs().clamp(max=2)
        messungen.append(ort + rauschen * torch.randn(anzahl, generator=g))
    return torch.stack(orte), torch.stack(messungen).unsqueeze(-1)


def abschnitte(wahr, gemessen, laenge):
    for anfang in range(0, wahr.size(0), laenge):
        yield wahr[anfang:anfang + laenge], gemessen[anfang:anfang + laenge]
