# factorización de matrices con pérdida de cuantil (pinball) propia; usuarios y películas por turnos
import torch


class Pinball(torch.autograd.Function):
    """max(tau*e, (tau-1)*e), suavizada cerca de cero con ancho delta"""

    @staticmethod
    def forward(ctx, pred, real, tau, delta):
        e = real - pred
        ctx.save_for_backward(e)
        ctx.tau, ctx.delta = tau, delta
        a = e.abs()
        suave = torch.where(a < delta, e * e / (2 * delta), a - delta / 2)
        peso = torch.where(e >= 0, tau, 1 - tau)
        return (peso * suave).mean()

    @staticmethod
    def backward(ctx, g):
        e, = ctx.saved_tensors
        peso = torch.where(e >= 0, ctx.tau, 1 - ctx.tau)
        d = peso * (e / ctx.delta).clamp(-1, 1)
        return -g * d / e.numel(), None, None, None


class Limitar(torch.autograd.Function):
    """recorta a [1, 5] pero deja pasar el gradiente cuando empuja hacia adentro"""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(1.0, 5.0)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        fuera = ((x < 1) & (g > 0)) | ((x > 5) & (g < 0))
        return g.masked_fill(fuera, 0.0)


def crear_datos(nu, np_, rango=3):
    U, P = torch.randn(nu, rango), torch.randn(np_, rango)
    R = (3 + U @ P.T / rango ** .5 + 0.2 * torch.randn(nu, np_)).clamp(1, 5)
    visto = torch.rand(nu, np_) < 0.4
    prueba = visto & (torch.rand(nu, np_) < 0.2)
    return R, (visto & ~prueba).nonzero().T, prueba.nonzero().T


def predecir(lado, u, p):
    U, P = lado['usuarios'], lado['peliculas']
    punto = (U['factor'][u] * P['factor'][p]).sum(1)
    return Limitar.apply(3.0 + punto + U['sesgo'][u] + P['sesgo'][p])


def nuevo_lado(n, k):
    return {
        'factor': (0.3 * torch.randn(n, k)).requires_grad_(),
        'sesgo': torch.zeros(n).requires_grad_(),
    }


torch.manual_seed(77)
NU, NP, K, TAU = 20, 15, 4, 0.5
R, entreno, prueba = crear_datos(NU, NP)
lado = {'usuarios': nuevo_lado(NU, K), 'peliculas': nuevo_lado(NP, K)}
opts = {nombre: torch.optim.Adagrad(list(d.values()), lr=0.15) for nombre, d in lado.items()}

ultimo = {}
for ronda in range(9):
    for turno in ('usuarios', 'peliculas'):
        for _ in range(2):
            u, p = entreno
            ajuste = Pinball.apply(predecir(lado, u, p), R[u, p], TAU, 0.1)
            norma = sum(t.square().mean() for t in lado[turno].values())
            perdida = ajuste + 0.02 * norma
            opts[turno].zero_grad()
            perdida.backward(inputs=list(lado[turno].values()))
            opts[turno].step()
            ultimo[turno] = ajuste.item()
    with torch.no_grad():
        u, p = prueba
        error = (predecir(lado, u, p) - R[u, p]).abs().mean().item()
    print('ronda %d  usuarios %.4f  peliculas %.4f  error de prueba %.4f' % (ronda, ultimo['usuarios'], ultimo['peliculas'], error))

suma = [sum(t.detach().abs().sum().item() for t in d.values()) for d in lado.values()]
print('RESULT %.6g %.6g %.6g %.6g' % (*suma, ultimo['peliculas'], error))
