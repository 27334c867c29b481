import torch
import torch.nn.functional as F


def corpus(n, length):
    g = torch.Generator().manual_seed(9)
    rows = torch.randint(0, 12, (n, 1), generator=g)
    for _ in range(length - 1):
        step = torch.randint(1, 4, (n, 1), generator=g)
        rows = torch.cat([rows, (rows[:, -1:] + step) % 12], dim=1)
    return rows


class CharModel:
    def __init__(self, vocab=12, context=3, width=6, hidden=32):
        g = torch.Generator().manual_seed(2147483647)
        self.C = torch.randn(vocab, width, generator=g)
        self.W1 = torch.randn(context * width, hidden, generator=g) * 0.2
        self.b1 = torch.zeros(hidden)
        self.W2 = torch.randn(hidden, vocab, generator=g) * 0.1
        self.b2 = torch.zeros(vocab)
        for p in self.parameters():
            p.requires_grad = True

    def parameters(self):
        return [self.C, self.W1, self.b1, self.W2, self.b2]

    def loss(self, x, y):
        h = torch.tanh(self.C[x].view(len(x), -1) @ self.W1 + self.b1)
        return F.cross_entropy(h @ self.W2 + self.b2, y)


rows = corpus(80, 10)
X = torch.stack([rows[:, i : i + 3] for i in range(7)], 1).flatten(0, 1)
Y = torch.stack([rows[:, i + 3] for i in range(7)], 1).flatten()
model = CharModel()
torch.manual_seed(0)
for i in range(120):
    ix = torch.randint(0, len(X), (32,))
    loss = model.loss(X[ix], Y[ix])
    loss.backward()
    lr = 0.05 if i < 80 else 0.01
    for p in model.parameters():
        p.data += -lr * p.grad
print(f"RESULT {model.loss(X, Y).item():.5f}")
