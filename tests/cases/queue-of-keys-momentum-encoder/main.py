import copy

import torch
from torch import nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, dim=12, out=8, size=64, m=0.99, temperature=0.2):
        super().__init__()
        self.m, self.t, self.size = m, temperature, size
        self.query = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, out))
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(out, size), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def move_key_encoder(self):
        for q, k in zip(self.query.parameters(), self.key.parameters()):
            k.data = k.data * self.m + q.data * (1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        a = int(self.ptr)
        self.queue[:, a:a + len(keys)] = keys.T
        self.ptr[0] = (a + len(keys)) % self.size

    def forward(self, a, b):
        q = F.normalize(self.query(a), dim=1)
        with torch.no_grad():
            self.move_key_encoder()
            k = F.normalize(self.key(b), dim=1)
        pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())
        logits = torch.cat([pos, neg], 1) / self.t
        self.enqueue(k)
        return logits, torch.zeros(len(a), dtype=torch.long)


torch.manual_seed(28)
model = MoCo()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
running, history = 0.0, []
for step in range(50):
    x = torch.randn(16, 12)
    logits, labels = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = 0.9 * running + 0.1 * loss.item()
    history.append((step, running, (logits.argmax(1) == 0).float().mean()))
print(f"RESULT {running:.6g} {history[-1][2].item():.6g}")
