# Entrenamiento adversario (Madry et al.) en un problema de juguete
import torch
import torch.nn as nn
from torch.nn.functional import cross_entropy as ec


def datos_espirales(n, semilla):
    azar = torch.Generator().manual_seed(semilla)
    etiqueta = torch.randint(3, (n,), generator=azar)
    radio = 0.2 + torch.rand(n, generator=azar)
    angulo = 2.5 * radio + etiqueta * 2.0944 + 0.15 * torch.randn(n, generator=azar)
    puntos = torch.stack((radio * angulo.cos(), radio * angulo.sin()), dim=1)
    return puntos, etiqueta


def ataque_fgsm(red, x, y, eps):
    x = x.clone().requires_grad_(True)
    gradiente, = torch.autograd.grad(ec(red(x), y), x)
    return (x + eps * gradiente.sign()).detach()


def ataque_pgd(red, x, y, eps, paso, vueltas):
    delta = torch.empty_like(x).uniform_(-eps, eps)
    for _ in range(vueltas):
        delta.requires_grad_(True)
        gradiente, = torch.autograd.grad(ec(red(x + delta), y), delta)
        delta = (delta.detach() + paso * gradiente.sign()).clamp(-eps, eps)
    return x + delta


def precision(red, x, y):
    with torch.no_grad():
        return (red(x).argmax(dim=1) == y).float().mean().item()


def evaluar(red, x, y, eps):
    red.eval()
    resultado = dict(
        limpia=precision(red, x, y),
        fgsm=precision(red, ataque_fgsm(red, x, y, eps), y),
        pgd=precision(red, ataque_pgd(red, x, y, eps, eps / 3, 6), y),
    )
    red.train()
    return resultado


def entrenar(epocas=5, eps=0.06, peso_limpio=0.3):
    x_ent, y_ent = datos_espirales(160, 1)
    x_pru, y_pru = datos_espirales(90, 2)
    red = nn.Sequential(
        nn.Linear(2, 32), nn.ReLU(), nn.Dropout(0.05),
        nn.Linear(32, 32), nn.ReLU(),
        nn.Linear(32, 3),
    )
    optimizador = torch.optim.SGD(red.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    lotes_por_epoca = 5
    planificador = torch.optim.lr_scheduler.OneCycleLR(optimizador, max_lr=0.3, total_steps=epocas * lotes_por_epoca)

    for epoca in range(epocas):
        perdida_media = 0.0
        for indices in torch.randperm(len(x_ent)).chunk(lotes_por_epoca):
            x, y = x_ent[indices], y_ent[indices]
            red.eval()
            x_adv = ataque_pgd(red, x, y, eps, paso=eps / 2, vueltas=4)
            red.train()
            perdida = (1 - peso_limpio) * ec(red(x_adv), y) + peso_limpio * ec(red(x), y)
            optimizador.zero_grad()
            perdida.backward()
            optimizador.step()
            planificador.step()
            perdida_media += perdida.item() / lotes_por_epoca
        medidas = evaluar(red, x_pru, y_pru, eps)
        print(f'epoca {epoca}: perdida {perdida_media:.4f} ' + ' '.join(f'{k}={v:.3f}' for k, v in medidas.items()))
    return red, perdida_media, medidas


torch.manual_seed(1492)
red, perdida_final, medidas = entrenar()
magnitud = sum(w.detach().abs().sum().item() for w in red.parameters())
print('RESULT %.6g %.6g %.6g %.6g' % (magnitud, perdida_final, medidas['limpia'], medidas['pgd']))
