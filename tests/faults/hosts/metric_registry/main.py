import torch
import components  # noqa: F401  (fills the registries)
from registry import LOSSES, OPTIMS, TOWERS

RECIPES = [
    dict(tower=dict(type="ConvTower", channels=8), loss=dict(type="xbm_contrastive", size=48), optim=dict(type="adam", lr=1e-2), steps=14),
    dict(tower=dict(type="MlpTower"), loss=dict(type="semi_hard_triplet"), optim=dict(type="sgd", lr=5e-2), steps=14),
]


def episodes(prototypes, n, noise=0.9):
    for _ in range(n):
        y = torch.randint(len(prototypes), (16,))
        yield prototypes[y] + noise * torch.randn(16, prototypes.shape[1]), y


@torch.no_grad()
def recall_at_1(tower, prototypes):
    (x, y), = episodes(prototypes, 1)
    z = tower(x)
    sim = z @ z.t() - 2 * torch.eye(len(z))
    return (y[sim.argmax(1)] == y).float().mean().item()


def run(recipe):
    prototypes = torch.randn(5, 20)
    tower = TOWERS.build(recipe["tower"])
    criterion = LOSSES.build(recipe["loss"])
    optim = OPTIMS.build({**recipe["optim"], "params": tower.parameters()})
    log = []
    for x, y in episodes(prototypes, recipe["steps"]):
        loss = criterion(tower(x), y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        log.append(loss.item())
    r1 = recall_at_1(tower, prototypes)
    print(f"{recipe['tower']['type']:>9} + {recipe['loss']['type']:<18} {log[1]:.4f} -> {log[-1]:.4f}  R@1 {r1:.3f}")
    return sum(p.detach().abs().sum().item() for p in tower.parameters()), log[-1]


if __name__ == "__main__":
    torch.manual_seed(5)
    out = [v for recipe in RECIPES for v in run(recipe)]
    print("RESULT " + " ".join("%.6g" % v for v in out))
