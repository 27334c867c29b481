import torch as T, torch.nn as N, torch.nn.functional as F
T.manual_seed(5)

def mlp(i, h, o, act=N.Tanh):
  return N.Sequential(N.Linear(i, h), act(), N.Linear(h, h), act(), N.Linear(h, o))

def sines(n, k=16):
  # random phase, random freq
  t = T.linspace(0, 1, k)
  f = 1 + 2*T.rand(n, 1)
  p = 6.28*T.rand(n, 1)
  return T.sin(6.28*f*t + p)

g = mlp(6, 40, 16)
d = mlp(16, 40, 1, lambda: N.LeakyReLU(.2))
og = T.optim.RMSprop(g.parameters(), 1e-3)
od = T.optim.RMSprop(d.parameters(), 1e-3)

a, b, c = 0., 1., 1.   # fake, real, what g wants
log = []
for it in range(20):
  x = sines(32)
  f = g(T.randn(32, 6))

  ld = .5*F.mse_loss(d(x), T.full((32, 1), b)) + .5*F.mse_loss(d(f.detach()), T.full((32, 1), a))
  od.zero_grad(); ld.backward(); od.step()

  lg = .5*F.mse_loss(d(f), T.full((32, 1), c))
  og.zero_grad(); lg.backward(); og.step()

  log += [(ld.item(), lg.item())]
  if it % 5 == 0: print(it, *('%.4f' % v for v in log[-1]))

g.eval()
with T.no_grad():
  s = g(T.randn(256, 6))
  # how smooth are they
  r = (s[:, 2:] - 2*s[:, 1:-1] + s[:, :-2]).pow(2).mean().item()
print('roughness %.4f' % r)
w = lambda m: sum(float(p.detach().abs().sum()) for p in m.parameters())
print('RESULT %.6g %.6g %.6g %.6g %.6g' % (w(g), w(d), *log[-1], r))
