import torch

from tgn import LinkModel
from events import stream


def train(model, optimizer, events, epochs):
    curve = []
    for epoch in range(epochs):
        model.bank.reset()
        total = 0.0
        for src, dst, neg, feats in events:
            optimizer.zero_grad()
            pos, fake = model(src, dst, neg, feats)
            loss = torch.nn.functional.softplus(-pos).mean() + torch.nn.functional.softplus(fake).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()
        curve.append(total / len(events))
    return curve


if __name__ == "__main__":
    torch.manual_seed(12)
    model = LinkModel(nodes=30, width=12, feats=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    curve = train(model, optimizer, stream(30, 4, batches=15), epochs=3)
    print("RESULT", " ".join(f"{v:.5f}" for v in curve))
