"""GradNorm (Chen et al., 2018) with three regression tasks of very different scale."""
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)

NUM_TASKS = 3
SIGMA = [1.0, 3.0, 8.0]   # scale of the tasks
ALPHA = 0.8


class ToyDataset:
    def __init__(self, n=128, d=10, seed=1):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, d, generator=g)
        base = torch.randn(d, 4, generator=g)
        self.ys = []
        for s in SIGMA:
            eps = 0.3 * torch.randn(d, 4, generator=g)
            self.ys.append(s * torch.tanh(self.x @ (base + eps) / 3))

    def batches(self, bs):
        perm = torch.randperm(len(self.x))
        for i in range(0, len(perm), bs):
            idx = perm[i:i + bs]
            yield self.x[idx], [y[idx] for y in self.ys]


class MultiTaskNet(nn.Module):
    def __init__(self, d=10, h=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, h), nn.ReLU())
        self.last_shared = nn.Linear(h, h)
        self.heads = nn.ModuleList([nn.Linear(h, 4) for _ in range(NUM_TASKS)])

    def forward(self, x):
        z = torch.relu(self.last_shared(self.trunk(x)))
        return [head(z) for head in self.heads]


model = MultiTaskNet()
task_weights = nn.Parameter(torch.ones(NUM_TASKS))
opt_model = optim.Adam(model.parameters(), lr=1e-2)
opt_weights = optim.Adam([task_weights], lr=2.5e-2)
criterion = nn.MSELoss()
data = ToyDataset()

initial_losses = None
step = 0
for epoch in range(8):
    for x, ys in data.batches(32):
        outputs = model(x)
        task_losses = torch.stack([criterion(o, y) for o, y in zip(outputs, ys)])
        if initial_losses is None:
            initial_losses = task_losses.detach().clone()

        # gradient norms of the single tasks at the last shared layer
        norms = []
        for task_loss in task_losses:
            g = torch.autograd.grad(task_loss, model.last_shared.weight, retain_graph=True)[0]
            norms.append(g.norm())
        norms = torch.stack(norms)

        ratios = task_losses.detach() / initial_losses
        inverse_rate = ratios / ratios.mean()
        weighted_norms = task_weights * norms
        target = (weighted_norms.mean() * inverse_rate ** ALPHA).detach()
        gradnorm_loss = (weighted_norms - target).abs().sum()

        opt_weights.zero_grad()
        gradnorm_loss.backward()

        total = (task_weights.detach() * task_losses).sum()
        opt_model.zero_grad()
        total.backward()

        opt_model.step()
        opt_weights.step()
        with torch.no_grad():
            task_weights.clamp_(min=0.01)
            task_weights.mul_(NUM_TASKS / task_weights.sum())
        step += 1
    shown = ", ".join("%.3f" % r for r in ratios.tolist())
    print("epoch %d  loss ratios [%s]  weights %s" % (epoch, shown, ["%.3f" % w for w in task_weights.tolist()]))

with torch.no_grad():
    final = [criterion(o, y).item() for o, y in zip(model(data.x), data.ys)]
print("final task losses", ["%.3f" % f for f in final])
model_sum = sum(p.abs().sum().item() for p in model.parameters())
print("RESULT %.6g %.6g %.6g %.6g %.6g" % (model_sum, *task_weights.tolist(), sum(final)))
