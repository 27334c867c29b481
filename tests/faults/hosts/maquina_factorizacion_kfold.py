import numpy as np
import torch
from torch.optim.swa_utils import AveragedModel

# Maquina de factorizacion de segundo orden, validacion cruzada de k pliegues,
# parada temprana y promedio de pesos (SWA) en las ultimas epocas.

K_PLIEGUES = 3
EPOCAS = 6
INICIO_SWA = 3
PACIENCIA = 2


class MaquinaFactorizacion(torch.nn.Module):
    def __init__(self, n_campos, n_factores=4):
        super().__init__()
        self.sesgo = torch.nn.Parameter(torch.zeros(()))
        self.lineal = torch.nn.Parameter(torch.zeros(n_campos))
        self.factores = torch.nn.Parameter(0.2 * torch.randn(n_campos, n_factores))

    def forward(self, x):
        suma_cuadrado = (x @ self.factores) ** 2
        cuadrado_suma = (x ** 2) @ (self.factores ** 2)
        return self.sesgo + x @ self.lineal + 0.5 * (suma_cuadrado - cuadrado_suma).sum(1)

    def penalizacion(self):
        return self.factores.square().sum() + 0.1 * self.lineal.square().sum()


def generar_datos(n, campos, azar):
    x = azar.normal(size=(n, campos)) * (azar.random((n, campos)) < 0.6)
    w, v = azar.normal(size=campos), azar.normal(size=(campos, 2))
    y = x @ w + 0.5 * (((x @ v) ** 2) - (x ** 2) @ (v ** 2)).sum(1) + 0.2 * azar.normal(size=n)
    y = (y - y.mean()) / y.std()
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


def pliegues(n, k, azar):
    trozos = np.array_split(azar.permutation(n), k)
    for i in range(k):
        resto = np.concatenate([t for j, t in enumerate(trozos) if j != i])
        yield torch.from_numpy(resto), torch.from_numpy(trozos[i])


def error(modelo, x, y):
    with torch.no_grad():
        return torch.nn.functional.mse_loss(modelo(x), y).item()


def entrenar_pliegue(x, y, entreno, validacion):
    modelo = MaquinaFactorizacion(x.shape[1])
    promedio = AveragedModel(modelo)
    opt = torch.optim.Adam(modelo.parameters(), lr=0.08)
    plan = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.7)
    mejor, sin_mejora, perdidas = float("inf"), 0, []
    for epoca in range(EPOCAS):
        for filas in entreno[torch.randperm(len(entreno))].split(30):
            perdida = torch.nn.functional.mse_loss(modelo(x[filas]), y[filas])
            total = perdida + 1e-3 * modelo.penalizacion()
            opt.zero_grad()
            total.backward()
            opt.step()
            perdidas.append(perdida.item())
        plan.step()
        if epoca >= INICIO_SWA:
            promedio.update_parameters(modelo)
        actual = error(modelo, x[validacion], y[validacion])
        if actual < mejor - 1e-4:
            mejor, sin_mejora = actual, 0
        else:
            sin_mejora += 1
        if sin_mejora > PACIENCIA:
            break
    usados = promedio if promedio.n_averaged > 0 else modelo
    return modelo, usados, mejor, perdidas


torch.manual_seed(12)
azar = np.random.default_rng(12)
X, Y = generar_datos(80, 7, azar)

resumen = []
for numero, (entreno, validacion) in enumerate(pliegues(len(X), K_PLIEGUES, azar)):
    modelo, swa, mejor, perdidas = entrenar_pliegue(X, Y, entreno, validacion)
    e_swa = error(swa, X[validacion], Y[validacion])
    print(f"pliegue {numero}: perdida {perdidas[0]:.4f} -> {perdidas[-1]:.4f}, validacion {mejor:.4f}, swa {e_swa:.4f}")
    resumen.append((sum(p.abs().sum().item() for p in modelo.parameters()),
                    sum(p.abs().sum().item() for p in swa.parameters()), e_swa))

media = np.mean([r[2] for r in resumen])
print(f"error medio {media:.4f} (varianza de Y = 1)")
print("RESULT", *[f"{v:.6g}" for r in resumen for v in r[:2]], f"{media:.6g}")
