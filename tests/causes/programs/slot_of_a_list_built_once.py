# hoisted-forward: emb[0]; recompute
import torch
from torch import nn
torch.manual_seed(1)
words = torch.randn(6, 5)
enc = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 4))
dec = nn.Linear(4, 3)
opt = torch.optim.SGD(list(enc.parameters()) + list(dec.parameters()), lr=.05)
emb = [enc(words[:3]), enc(words[3:])]  #! built
tgt = torch.randint(0, 3, (3,))
for k in range(3):
    opt.zero_grad()
    out = dec(emb[0])
    nn.functional.cross_entropy(out, tgt).backward()  #! freed failed
    opt.step()
print("RESULT", out.sum().item())
