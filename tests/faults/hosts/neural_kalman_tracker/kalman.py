from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Schaetzung:
    mittel: torch.Tensor
    kovarianz: torch.Tensor

    @classmethod
    def anfang(cls, anzahl, dim=2):
        return cls(torch.zeros(anzahl, dim), torch.eye(dim).repeat(anzahl, 1, 1))

    def abgetrennt(self):
        return Schaetzung(self.mittel.detach(), self.kovarianz.detach())


class NeuronalesKalmanFilter(nn.Module):
    """Kalman-Filter mit gelernter Dynamik und gelerntem (zustandsabhaengigem) Messrauschen."""

    def __init__(self, dim=2, breite=16):
        super().__init__()
        self.dynamik = nn.Sequential(nn.Linear(dim, breite), nn.Tanh(), nn.Linear(breite, dim))
        self.messrauschen = nn.Sequential(nn.Linear(dim, 8), nn.Tanh(), nn.Linear(8, 1))
        self.log_q = nn.Parameter(torch.full((dim,), -2.0))
        self.register_buffer("H", torch.tensor([[1.0, 0.0]]))
        self.register_buffer("F", torch.tensor([[1.0, 0.3], [0.0, 1.0]]))

    def vorhersage(self, s):
        mittel = s.mittel @ self.F.T + 0.1 * self.dynamik(s.mittel)
        kov = self.F @ s.kovarianz @ self.F.T + torch.diag(self.log_q.exp())
        return Schaetzung(mittel, kov)

    def korrektur(self, s, messung):
        R = self.messrauschen(s.mittel).exp().unsqueeze(-1)
        innovation = messung - s.mittel @ self.H.T
        S = self.H @ s.kovarianz @ self.H.T + R
        K = s.kovarianz @ self.H.T / S
        mittel = s.mittel + (K @ innovation.unsqueeze(-1)).squeeze(-1)
        kov = s.kovarianz - K @ self.H @ s.kovarianz
        S = S.flatten()
        nll = 0.5 * (S.log() + innovation.flatten() ** 2 / S).mean()
        return Schaetzung(mittel, kov), nll

    def forward(self, messungen, s):
        mittelwerte, nll = [], 0.0
        for z in messungen:
            s, beitrag = self.korrektur(self.vorhersage(s), z)
            nll = nll + beitrag
            mittelwerte.append(s.mittel)
        return torch.stack(mittelwerte), nll / len(messungen), s
