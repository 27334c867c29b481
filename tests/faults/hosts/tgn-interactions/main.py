import torch
import torch.nn.functional as F

from events import InteractionLog
from model import TGN


def bce(pos, neg):
    return F.binary_cross_entropy_with_logits(pos, torch.ones_like(pos)) + F.binary_cross_entropy_with_logits(
        neg, torch.zeros_like(neg)
    )


def train_epoch(tgn, optimizer, log, gen, split, batch_size):
    tgn.train()
    tgn.memory.reset()
    losses = []
    for batch in log.stream(0, split, batch_size, gen):
        pos, neg, (state, last_seen) = tgn(batch)
        loss = bce(pos, neg)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(tgn.parameters(), 5.0)
        optimizer.step()
        tgn.memory.commit(state, last_seen)
        tgn.memory.store(batch)
        losses.append(loss.item())
    return losses


@torch.no_grad()
def evaluate(tgn, log, split, batch_size):
    tgn.eval()
    gen = torch.Generator().manual_seed(123)
    total, correct, n = 0.0, 0, 0
    for batch in log.stream(split, len(log.src), batch_size, gen):
        pos, neg, (state, last_seen) = tgn(batch)
        total += bce(pos, neg).item() * len(batch)
        correct += (pos > neg).sum().item()
        n += len(batch)
        tgn.memory.commit(state, last_seen)
        tgn.memory.store(batch)
    return total / n, correct / n


def main():
    torch.manual_seed(70)
    log = InteractionLog(seed=7)
    split, batch_size = 96, 16
    tgn = TGN(log.n_nodes)
    optimizer = torch.optim.Adam(tgn.parameters(), lr=1e-2)
    gen = torch.Generator().manual_seed(71)
    for epoch in range(6):
        losses = train_epoch(tgn, optimizer, log, gen, split, batch_size)
        val, rank = evaluate(tgn, log, split, batch_size)
        print(f"epoch {epoch}  train {sum(losses) / len(losses):.4f}  val {val:.4f}  ranked right {rank:.2f}")
    params = sum(p.detach().abs().sum().item() for p in tgn.parameters())
    print("RESULT %.6g %.6g %.6g %.6g" % (params, tgn.memory.state.abs().sum().item(), losses[-1], val))


if __name__ == "__main__":
    main()
