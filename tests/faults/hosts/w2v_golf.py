import torch, random
torch.manual_seed(1), random.seed(1)
σ = torch.nn.functional.logsigmoid

# toy corpus: sentences walk inside one of four topics of six words
S = [[6 * k + random.randrange(6) for _ in range(9)] for k in random.choices(range(4), k=60)]
V, D, W, K = 24, 8, 2, 4
P = [(s[i], s[j]) for s in S for i in range(len(s)) for j in range(max(0, i - W), min(len(s), i + W + 1)) if i != j]
f = torch.bincount(torch.tensor([w for s in S for w in s]), minlength=V).float() ** .75

I, O = ((torch.randn(V, D) * .3).requires_grad_() for _ in 'io')
A = [torch.zeros_like(p) for p in (I, O)]                       # adagrad sums
batches = lambda n, b: (tuple(map(torch.tensor, zip(*random.sample(P, b)))) for _ in range(n))
negs = lambda b: torch.multinomial(f, b * K, replacement=True).view(b, K)
L = lambda c, o, n: -(σ((I[c] * O[o]).sum(1)) + σ(-(O[n] @ I[c].unsqueeze(2)).squeeze(2)).sum(1)).mean()

@torch.no_grad()
def upd(lr, *g): [(a.add_(d * d), p.sub_(lr * d / (a.sqrt() + 1e-6))) for p, a, d in zip((I, O), A, g)]

def step(c, o, lr=.2):
    l = L(c, o, negs(len(c)))
    upd(lr, *torch.autograd.grad(l, (I, O)))
    return l.item()

h = [step(c, o) for c, o in batches(40, 128)]
print(*('%d:%.4f' % (i, sum(h[i:i + 8]) / 8) for i in range(0, 40, 8)))

with torch.no_grad():
    E = torch.nn.functional.normalize(I, dim=1)
    nn = (E @ E.t() - 2 * torch.eye(V)).topk(3).indices
    hit = (nn // 6 == torch.arange(V)[:, None] // 6).float().mean().item()
    purity = [(E[6 * k:6 * k + 6] @ E[6 * k:6 * k + 6].t()).mean().item() for k in range(4)]
print('same-topic neighbours %.3f' % hit)
print('purity', *map('%.3f'.__mod__, purity))
print('RESULT', *('%.6g' % v for v in (*(p.detach().abs().sum().item() for p in (I, O)), h[-1], hit)))
