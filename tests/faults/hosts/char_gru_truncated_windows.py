import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)

txt = ("she sells sea shells by the sea shore and the shells she sells "
       "are sea shore shells for sure so if she sells shells on the shore "
       "then i am sure she sells sea shore shells ") * 6
cs = sorted(set(txt))
stoi = {c: i for i, c in enumerate(cs)}
itos = {i: c for c, i in stoi.items()}
V = len(cs)
d = torch.tensor([stoi[c] for c in txt])

B, T, H = 4, 16, 48
n = (len(d) - 1) // B * B
x = d[:n].view(B, -1)
y = d[1:n + 1].view(B, -1)

emb = nn.Embedding(V, 16)
gru = nn.GRU(16, H, batch_first=True)
out = nn.Linear(H, V)
ps = [*emb.parameters(), *gru.parameters(), *out.parameters()]
opt = torch.optim.Adam(ps, lr=1e-2)


def f(xb, h):
    o, h = gru(emb(xb), h)
    return out(o), h


@torch.no_grad()
def sample(seed, n=30):
    h, s = None, seed
    z = torch.tensor([[stoi[c] for c in seed]])
    for _ in range(n):
        lg, h = f(z, h)
        z = lg[:, -1].argmax(-1, keepdim=True)
        s += itos[z.item()]
    return s


ls = []
ema = None
it = 0
for ep in range(2):
    h = torch.zeros(1, B, H)
    for i in range(0, x.size(1) - T, T):
        lg, h = f(x[:, i:i + T], h)
        l = F.cross_entropy(lg.reshape(-1, V), y[:, i:i + T].reshape(-1))
        opt.zero_grad()
        l.backward()
        nn.utils.clip_grad_norm_(ps, 1.0)
        opt.step()
        h = h.detach()
        ls.append(l.item())
        ema = ls[-1] if ema is None else 0.9 * ema + 0.1 * ls[-1]
        it += 1
        if it % 8 == 0:
            print(f"ep {ep} it {it:3d} loss {l.item():.4f} smooth {ema:.4f}")
    print("   ", repr(sample("she ")))

print("RESULT " + " ".join(
    "%.6g" % v for v in [
        sum(p.abs().sum().item() for p in emb.parameters()),
        sum(p.abs().sum().item() for p in gru.parameters()),
        sum(p.abs().sum().item() for p in out.parameters()),
        ls[-1], ema]))
