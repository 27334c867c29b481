import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(53)
encoder = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
decoder, probe = nn.Linear(16, 6), nn.Linear(16, 2)
opt_ae = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
opt_probe = torch.optim.Adam(probe.parameters(), lr=1e-2)
seen = []
for step in range(150):
    x = torch.randn(20, 6)
    s = (x[:, 0] > 0).long()
    z = encoder(x)
    rec = F.mse_loss(decoder(z), x)
    leak = F.cross_entropy(probe(z), s)

    opt_ae.zero_grad()
    opt_probe.zero_grad()
    leak.backward(inputs=list(probe.parameters()), retain_graph=True)
    (rec - 0.1 * leak).backward(inputs=[*encoder.parameters(), *decoder.parameters()])
    opt_probe.step()
    opt_ae.step()
    seen.append((rec.item(), leak.item()))
print("RESULT", *(f"{v:.6g}" for v in seen[-1]))
