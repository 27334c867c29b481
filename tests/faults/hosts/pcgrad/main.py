import torch

from model import SharedBottom
from registry import LOSSES
from surgery import PCGrad

TASKS = {"age": "regression", "height": "regression", "clicked": "binary"}


def synth(n):
    x = torch.randn(n, 7)
    y = {
        "age": torch.sin(x[:, 0]) + 0.5 * x[:, 1],
        "height": -torch.sin(x[:, 0]) + 0.5 * x[:, 2] ** 2 - 0.5,
        "clicked": (x[:, 0] * x[:, 3] > 0).float(),
    }
    return x, y


def losses_of(net, x, y):
    out = net(x)
    return {t: LOSSES[kind](out[t], y[t]) for t, kind in TASKS.items()}


def main(epochs=6, batch=32):
    torch.manual_seed(13)
    x, y = synth(160)
    xt, yt = synth(64)
    net = SharedBottom(7, 24, TASKS)
    opt = PCGrad(torch.optim.Adam(net.parameters(), lr=1e-2), seed=13)

    for epoch in range(epochs):
        epoch_sum = dict.fromkeys(TASKS, 0.0)
        for idx in torch.randperm(len(x)).split(batch):
            losses = losses_of(net, x[idx], {t: v[idx] for t, v in y.items()})
            opt.zero_grad()
            opt.pc_backward(list(losses.values()))
            opt.step()
            for t, l in losses.items():
                epoch_sum[t] += l.item() * len(idx) / len(x)
        print(f"[{epoch}]", " ".join(f"{t}={v:.4f}" for t, v in epoch_sum.items()), f"conflicts={opt.stats()['conflicts']:.0f}")

    with torch.inference_mode():
        test = {t: l.item() for t, l in losses_of(net, xt, yt).items()}
    print("test", {t: round(v, 4) for t, v in test.items()})
    mass = lambda m: sum(p.detach().abs().sum().item() for p in m.parameters())
    print("RESULT", "%.6g" % mass(net.bottom), *("%.6g" % mass(t) for t in net.towers.values()), "%.6g" % sum(test.values()))


if __name__ == "__main__":
    main()
