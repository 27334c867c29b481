"""
Bandido contextual condicionado a un objetivo, con retrospectiva (hindsight).

El brazo elegido produce un resultado; si no era el objetivo, se guarda también la
experiencia como si el resultado hubiera sido el objetivo desde el principio.
"""
import random
from collections import deque
from dataclasses import dataclass, replace

import torch
from torch import nn

BRAZOS = 6
CONTEXTO = 4


@dataclass(frozen=True)
class Experiencia:
    contexto: torch.Tensor
    objetivo: int
    brazo: int
    logp: float
    premio: float


class Politica(nn.Module):
    def __init__(self, oculto=24):
        super().__init__()
        self.objetivos = nn.Embedding(BRAZOS, 8)
        self.cuerpo = nn.Sequential(nn.Linear(CONTEXTO + 8, oculto), nn.Tanh(), nn.Linear(oculto, BRAZOS))

    def forward(self, contexto, objetivo):
        entrada = torch.cat([contexto, self.objetivos(objetivo)], dim=-1)
        return torch.log_softmax(self.cuerpo(entrada), dim=-1)


class Bandido:
    """el resultado de un brazo se desplaza según el signo del primer rasgo del contexto"""

    def nuevo(self):
        return torch.randn(CONTEXTO), random.randrange(BRAZOS)

    def tirar(self, contexto, brazo):
        salto = 1 if contexto[0].item() > 0 else 3
        if random.random() < 0.05:
            salto += 1
        return (brazo + salto) % BRAZOS


def jugar(politica, bandido, partidas, memoria):
    aciertos = 0
    for _ in range(partidas):
        contexto, objetivo = bandido.nuevo()
        with torch.no_grad():
            logp = politica(contexto, torch.tensor(objetivo))
            brazo = torch.multinomial(logp.exp(), 1).item()
        resultado = bandido.tirar(contexto, brazo)
        exp = Experiencia(contexto, objetivo, brazo, logp[brazo].item(), float(resultado == objetivo))
        memoria.append(exp)
        aciertos += exp.premio
        if resultado != objetivo:
            with torch.no_grad():
                logp_retro = politica(contexto, torch.tensor(resultado))
            memoria.append(replace(exp, objetivo=resultado, logp=logp_retro[brazo].item(), premio=1.0))
    return aciertos / partidas


def aprender(politica, optimizador, memoria, base, lote=48, recorte=2.0):
    muestra = random.sample(memoria, min(lote, len(memoria)))
    contexto = torch.stack([e.contexto for e in muestra])
    objetivo = torch.tensor([e.objetivo for e in muestra])
    brazo = torch.tensor([e.brazo for e in muestra])
    premio = torch.tensor([e.premio for e in muestra])
    logp_vieja = torch.tensor([e.logp for e in muestra])

    logp = politica(contexto, objetivo)
    elegida = logp.gather(1, brazo.unsqueeze(1)).squeeze(1)
    peso = (elegida - logp_vieja).exp().clamp(max=recorte).detach()
    entropia = -(logp.exp() * logp).sum(-1).mean()
    perdida = -(peso * (premio - base) * elegida).mean() - 0.01 * entropia
    optimizador.zero_grad()
    perdida.backward()
    optimizador.step()
    return perdida.item(), 0.9 * base + 0.1 * premio.mean().item()


def principal():
    random.seed(33)
    torch.manual_seed(33)
    politica, bandido = Politica(), Bandido()
    optimizador = torch.optim.Adam(politica.parameters(), lr=2e-2)
    memoria = deque(maxlen=250)
    base, perdidas = 0.0, []
    for ronda in range(1, 19):
        tasa = jugar(politica, bandido, 20, memoria)
        for _ in range(2):
            perdida, base = aprender(politica, optimizador, memoria, base)
            perdidas.append(perdida)
        if ronda % 6 == 0:
            print(f"ronda {ronda:2d}  aciertos {tasa:.2f}  base {base:.3f}  pérdida {perdidas[-1]:+.4f}")
    total = sum(p.abs().sum().item() for p in politica.cuerpo.parameters())
    print(f"RESULT {total:.6g} {politica.objetivos.weight.abs().sum().item():.6g} {sum(perdidas):.6g} {base:.6g}")


if __name__ == "__main__":
    principal()
