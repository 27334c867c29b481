import torch
from nets import HamiltonianNet, LagrangianNet
from pendulum import energy, rk4, snapshots

torch.manual_seed(8)
gen = torch.Generator().manual_seed(80)

nets = {"hnn": HamiltonianNet(), "lnn": LagrangianNet()}
opts = {name: torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=1e-4) for name, net in nets.items()}
scheds = {name: torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=30) for name, opt in opts.items()}
losses = {name: [] for name in nets}


def fit(name, batch):
    q, w, dq, dw = batch
    pred_dq, pred_dw = nets[name].field(q, w)
    loss = (pred_dw - dw).pow(2).mean()
    if name == "hnn":
        loss = loss + (pred_dq - dq).pow(2).mean()
    opts[name].zero_grad()
    loss.backward()
    opts[name].step()
    scheds[name].step()
    return loss.item()


def rollout(name, steps=12, dt=0.1):
    field = lambda q, w: nets[name].field(q, w, differentiable=False)
    q, w = torch.tensor([[1.0]]), torch.tensor([[0.0]])
    e0 = energy(q, w)
    for _ in range(steps):
        q, w = rk4(field, q, w, dt)
        q, w = q.detach(), w.detach()
    return (energy(q, w) - e0).item()


for epoch in range(30):
    batch = snapshots(48, gen)
    for name in nets:
        losses[name].append(fit(name, batch))
    if epoch % 6 == 0:
        print(epoch, *(f"{n} {l[-1]:.4f}" for n, l in losses.items()))

drift = {name: rollout(name) for name in nets}
print("energy drift:", {k: round(v, 5) for k, v in drift.items()})
out = []
for name, net in nets.items():
    out += [sum(p.detach().abs().sum().item() for p in net.parameters()), losses[name][-1], drift[name]]
print("RESULT", " ".join("%.6g" % v for v in out))
