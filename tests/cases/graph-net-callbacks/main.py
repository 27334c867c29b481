"""Message passing for a toy molecule property, with a small callback-driven trainer."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def random_molecule(g):
    n = int(torch.randint(5, 10, (1,), generator=g))
    kinds = torch.randint(4, (n,), generator=g)
    src = torch.arange(1, n)
    dst = torch.stack([torch.randint(int(i), (1,), generator=g)[0] for i in src])
    edges = torch.stack((torch.cat((src, dst)), torch.cat((dst, src))))
    degree = torch.bincount(edges[1], minlength=n)
    target = (kinds * degree).sum().float() / n
    return kinds, edges, target


def collate(molecules):
    offset, ks, es, owner, ys = 0, [], [], [], []
    for i, (k, e, y) in enumerate(molecules):
        ks.append(k)
        es.append(e + offset)
        ys.append(y)
        owner.append(torch.full_like(k, i))
        offset += len(k)
    return torch.cat(ks), torch.cat(es, 1), torch.cat(owner), torch.stack(ys)


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.message = nn.Linear(2 * d, d)
        self.update = nn.GRUCell(d, d)

    def forward(self, h, edges):
        src, dst = edges
        m = F.relu(self.message(torch.cat((h[src], h[dst]), 1)))
        return self.update(torch.zeros_like(h).index_add(0, dst, m), h)


class MoleculeNet(nn.Module):
    def __init__(self, kinds=4, d=16, depth=2):
        super().__init__()
        self.embed = nn.Embedding(kinds, d)
        self.layers = nn.ModuleList([Layer(d) for _ in range(depth)])
        self.read = nn.Linear(d, 1)

    def forward(self, kinds, edges, owner, n):
        h = self.embed(kinds)
        for layer in self.layers:
            h = layer(h, edges)
        pooled = torch.zeros(n, h.size(1)).index_add(0, owner, h)
        return self.read(pooled).squeeze(1) / torch.bincount(owner, minlength=n)


class Callback:
    def on_train_batch(self, trainer, metrics): ...
    def on_epoch(self, trainer, metrics): ...


class Journal(Callback):
    def __init__(self):
        self.pages = {}

    def write(self, metrics):
        for name, value in metrics.items():
            self.pages.setdefault(name, []).append(value)

    def on_train_batch(self, trainer, metrics):
        self.write({"batch/" + k: v.item() for k, v in metrics.items()})

    def on_epoch(self, trainer, metrics):
        self.write({"epoch/" + k: v for k, v in metrics.items()})

    def best(self, name):
        return min((float(v), i) for i, v in enumerate(self.pages[name]))


class Patience(Callback):
    def __init__(self, rounds):
        self.rounds, self.left, self.low = rounds, rounds, float("inf")

    def on_epoch(self, trainer, metrics):
        if metrics["mae"] < self.low:
            self.low, self.left = metrics["mae"].item(), self.rounds
        else:
            self.left -= 1
            trainer.stop = self.left == 0


class Trainer:
    def __init__(self, net, callbacks):
        self.net, self.callbacks, self.stop = net, callbacks, False
        self.opt = torch.optim.Adam(net.parameters(), lr=4e-3)

    def tell(self, event, metrics):
        for c in self.callbacks:
            getattr(c, event)(self, metrics)

    def errors(self, batch):
        *graph, y = batch
        gap = self.net(*graph, len(y)) - y
        return {"mse": gap.square().mean(), "mae": gap.abs().mean()}

    def run(self, batches, held_out, epochs):
        for _ in range(epochs):
            self.net.train()
            for batch in batches:
                metrics = self.errors(batch)
                self.opt.zero_grad()
                metrics["mse"].backward()
                self.opt.step()
                self.tell("on_train_batch", metrics)
            self.net.eval()
            self.tell("on_epoch", self.errors(held_out))
            if self.stop:
                break


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    data = [random_molecule(g) for _ in range(160)]
    batches = [collate(data[i:i + 16]) for i in range(0, 128, 16)]
    journal = Journal()
    trainer = Trainer(MoleculeNet(), [journal, Patience(6)])
    trainer.run(batches, collate(data[128:]), epochs=20)
    mae, when = journal.best("epoch/mae")
    print(f"best held-out error {mae:.4f} in epoch {when} of {len(journal.pages['epoch/mae'])}")
    print("RESULT", f"{mae:.6g}", when, f"{sum(journal.pages['batch/mse'][-8:]):.6g}")


main()
