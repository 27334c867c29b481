import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from encoder import SessionEncoder
from memory import RecentSessions


def fake_clickstream(n_sessions, length, n_items, generator):
    start = torch.randint(0, n_items, (n_sessions, 1), generator=generator)
    stride = torch.randint(1, 4, (n_sessions, 1), generator=generator)
    clicks = (start + stride * torch.arange(length + 1)) % n_items
    return TensorDataset(torch.arange(n_sessions), clicks[:, :-1], clicks[:, -1])


def info_nce(item_vec, session_vec, others, tau):
    pos = (item_vec * session_vec).sum(-1, keepdim=True)
    if others is None:
        return pos.neg().mean()
    neg = item_vec @ others.t()
    logits = torch.cat([pos, neg], dim=1) / tau
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))


def train(args):
    torch.manual_seed(args.seed)
    g = torch.Generator().manual_seed(args.seed)
    data = fake_clickstream(96, 6, args.items, g)
    loader = DataLoader(data, batch_size=12, shuffle=True, generator=g)
    model = SessionEncoder(args.items, 16)
    optim = torch.optim.Adagrad(model.parameters(), lr=args.lr)
    bank = RecentSessions(capacity=40)
    seen = 0
    total = 0.0
    for epoch in range(args.epochs):
        for ids, clicks, nxt in loader:
            sess = model(clicks)
            target = model.embed_item(nxt)
            loss = info_nce(target, sess, bank.negatives(exclude=ids), args.tau)
            optim.zero_grad()
            loss.backward()
            optim.step()
            bank.push(ids, sess.detach())
            seen += len(ids)
            total += loss.item() * len(ids)
        print(f"epoch {epoch}: {total / seen:.4f} (bank {len(bank)})")
    print(f"RESULT {total / seen:.6g} {model.items.weight.abs().sum().item():.6g}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--items", type=int, default=30)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--tau", type=float, default=0.2)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--seed", type=int, default=17)
    train(p.parse_args())
