import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)

# frozen backbone + one soft prompt per task (Lester et al.)
VOCAB, WIDTH, SEQ, N_PROMPT = 11, 16, 8, 3


class Backbone(nn.Module):
  def __init__(self):
    super().__init__()
    self.embed = nn.Embedding(VOCAB, WIDTH)
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 32, dropout=0.0, batch_first=True)
    self.encoder = nn.TransformerEncoder(layer, 1)
    self.pos = nn.Parameter(0.1 * torch.randn(SEQ + N_PROMPT, WIDTH))
    self.readout = nn.Linear(WIDTH, VOCAB)

  def forward(self, ids, soft=None):
    h = self.embed(ids) + self.pos[N_PROMPT:]
    if soft is not None:
      pre = soft + self.pos[:N_PROMPT]
      h = torch.cat([pre.expand(len(ids), -1, -1), h], 1)
    return self.readout(self.encoder(h))[:, -SEQ:]


# each task is a token-wise map the backbone has to be steered towards
TASKS = {
  "copy": lambda t: t,
  "reverse": lambda t: t.flip(1),
  "constant": lambda t: torch.full_like(t, 4),
}


def batch(fn, n=24):
  ids = torch.randint(VOCAB, (n, SEQ))
  return ids, fn(ids)


def loss_of(net, ids, target, soft=None):
  return F.cross_entropy(net(ids, soft).transpose(1, 2), target)


net = Backbone()

# pretraining: a mixture of all tasks with no indication which one is meant
pre_opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(12):
  pre_opt.zero_grad()
  parts = [loss_of(net, *batch(fn), soft=torch.zeros(N_PROMPT, WIDTH)) for fn in TASKS.values()]
  mixture = sum(parts) / len(parts)
  mixture.backward()
  pre_opt.step()
print(f"mixture loss after pretraining {mixture.item():.4f}")
for w in net.parameters():
  w.grad = None
net.requires_grad_(False)
net.eval()

prompts = {}
finals = {}
for task in ("copy", "constant"):
  # initialise from embeddings of random vocabulary items
  soft = net.embed.weight[torch.randint(VOCAB, (N_PROMPT,))].clone().requires_grad_()
  velocity = torch.zeros_like(soft)
  trace, best = [], float("inf")
  for it in range(16):
    ids, target = batch(TASKS[task])
    l = loss_of(net, ids, target, soft) + 1e-3 * soft.pow(2).sum()
    g, = torch.autograd.grad(l, soft)
    g = g / (g.norm() + 1e-8)
    trace.append(l.item())
    if trace[-1] < best:
      best, kept = trace[-1], soft.detach().clone()
    with torch.no_grad():
      velocity.mul_(0.8).add_(g)
      soft -= 0.3 * velocity
  prompts[task] = kept
  finals[task] = trace[-1]
  print(f"{task:10s} {trace[0]:.4f} -> {trace[-1]:.4f}  best {best:.4f}")

with torch.no_grad():
  for task, soft in prompts.items():
    ids, target = batch(TASKS[task], 64)
    acc = (net(ids, soft).argmax(-1) == target).float().mean().item()
    print(f"{task:10s} accuracy {acc:.3f}")

backbone_size = sum(w.abs().sum().item() for w in net.parameters())
print("RESULT %.6g" % backbone_size, *("%.6g" % p.abs().sum().item() for p in prompts.values()), *("%.6g" % v for v in finals.values()))
