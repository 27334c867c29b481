# tune log learning rates (one per layer) and log weight decay through the unrolled training run
import torch
torch.manual_seed(0)
F = torch.nn.functional

n, d, k = 60, 6, 3
X = torch.randn(n, d)
W_true = torch.randn(d, k)
Y = (X @ W_true + 0.8 * torch.randn(n, k)).argmax(1)
Xtr, Ytr, Xva, Yva = X[:30], Y[:30], X[30:], Y[30:]

w0 = [torch.randn(d, 16) / d ** .5, torch.zeros(16), torch.randn(16, k) / 4, torch.zeros(k)]
layer_of = [0, 0, 1, 1]

log_lr = torch.full((2,), -3.0, requires_grad=True)
log_wd = torch.tensor(-4.0, requires_grad=True)
opt = torch.optim.Adam([{'params': [log_lr], 'lr': 0.15}, {'params': [log_wd], 'lr': 0.05}])


def f(w, x):
  h = torch.tanh(x @ w[0] + w[1])
  return h @ w[2] + w[3]


def train(T):
  w = [p.clone().requires_grad_() for p in w0]
  lr, wd = log_lr.exp(), log_wd.exp()
  for t in range(T):
    l = F.cross_entropy(f(w, Xtr), Ytr) + wd * sum((p ** 2).sum() for p in w)
    g = torch.autograd.grad(l, w, create_graph=True)
    w = [p - lr[i] * gp for p, gp, i in zip(w, g, layer_of)]
  return w, l


best = (float('inf'), None)
curve = []
for outer in range(20):
  opt.zero_grad()
  w, ltr = train(8)
  lva = F.cross_entropy(f(w, Xva), Yva)
  lva.backward()
  opt.step()
  curve.append(lva.item())
  if curve[-1] < best[0]:
    best = (curve[-1], [p.detach() for p in w])
  if outer % 4 == 0:
    print('outer %2d  train %.4f  val %.4f  lr %s  wd %.4f' % (
      outer, ltr.item(), lva.item(), ['%.3f' % v for v in log_lr.exp().tolist()], log_wd.exp().item()))

with torch.no_grad():
  acc = (f(best[1], Xva).argmax(1) == Yva).float().mean().item()
print('best val %.4f  acc %.3f' % (best[0], acc))
print('RESULT %.6g %.6g %.6g %.6g' % (*log_lr.tolist(), log_wd.item(), curve[-1]))
