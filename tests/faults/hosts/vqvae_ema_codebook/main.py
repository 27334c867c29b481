import torch

from data import load
from vqvae import VQVAE

cfg = {
    "seed": 17,
    "epochs": 5,
    "bs": 16,
    "lr": 4e-3,
    "commitment": 0.25,
    "hidden": 12,
    "codes": 16,
    "dim": 6,
}


def run_epoch(model, loader, optim=None):
    train = optim is not None
    model.train(train)
    tot = {"loss": 0.0, "rec": 0.0, "perp": 0.0}
    n = 0
    with torch.set_grad_enabled(train):
        for x in loader:
            x_hat, commit, perp = model(x)
            rec = (x_hat - x).pow(2).mean()
            loss = rec + cfg["commitment"] * commit
            if train:
                optim.zero_grad(set_to_none=True)
                loss.backward()
                optim.step()
            tot["loss"] += loss.item() * len(x)
            tot["rec"] += rec.item() * len(x)
            tot["perp"] += perp.item() * len(x)
            n += len(x)
    return {k: v / n for k, v in tot.items()}


if __name__ == "__main__":
    torch.manual_seed(cfg["seed"])
    train, valid = load(80, cfg["bs"], seed=0), load(32, cfg["bs"], seed=1)
    model = VQVAE(cfg["hidden"], cfg["codes"], cfg["dim"])
    optim = torch.optim.Adam(model.parameters(), lr=cfg["lr"])

    for ep in range(cfg["epochs"]):
        tr = run_epoch(model, train, optim)
        va = run_epoch(model, valid)
        print(ep, *(f"{s}_{k}={v:.4f}" for s, d in (("tr", tr), ("va", va)) for k, v in d.items()))

    enc = sum(p.abs().sum() for p in model.enc.parameters()).item()
    dec = sum(p.abs().sum() for p in model.dec.parameters()).item()
    print("RESULT %.6g %.6g %.6g %.6g %.6g" % (enc, dec, model.vq.embed.abs().sum(), va["rec"], va["perp"]))
