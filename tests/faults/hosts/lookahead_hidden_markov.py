"""Fit an HMM by gradient of its forward algorithm; slow weights follow fast ones (Lookahead, written by hand)."""
import torch


class Lookahead:
    """Wraps an optimizer: every k steps the slow weights move a bit towards the fast ones."""

    def __init__(self, inner, k=4, alpha=0.5):
        self.inner, self.k, self.alpha, self.count = inner, k, alpha, 0
        self.slow = [[p.detach().clone() for p in g["params"]] for g in inner.param_groups]

    def zero_grad(self):
        self.inner.zero_grad()

    def step(self):
        self.inner.step()
        self.count += 1
        if self.count % self.k:
            return
        with torch.no_grad():
            for group, slow in zip(self.inner.param_groups, self.slow):
                for p, s in zip(group["params"], slow):
                    s += self.alpha * (p - s)
                    p.copy_(s)


class HMM(torch.nn.Module):
    def __init__(self, states, symbols):
        super().__init__()
        self.start = torch.nn.Parameter(torch.zeros(states))
        self.move = torch.nn.Parameter(0.3 * torch.randn(states, states))
        self.emit = torch.nn.Parameter(0.3 * torch.randn(states, symbols))

    def log_prob(self, sequence):
        move, emit = self.move.log_softmax(-1), self.emit.log_softmax(-1)
        alpha = self.start.log_softmax(-1) + emit[:, sequence[0]]
        for symbol in sequence[1:]:
            alpha = torch.logsumexp(alpha[:, None] + move, dim=0) + emit[:, symbol]
        return alpha.logsumexp(0)


def draw(length, gen):
    state, out = 0, []
    for _ in range(length):
        state = state if torch.rand((), generator=gen) < 0.8 else 1 - state
        out.append(int(torch.randint(0, 3, (), generator=gen)) + 2 * state)
    return out


gen = torch.Generator().manual_seed(6)
torch.manual_seed(6)
corpus = [draw(10, gen) for _ in range(6)]
hmm = HMM(2, 5)
optimizer = Lookahead(torch.optim.Adam(hmm.parameters(), lr=0.08))
bits = []
for sweep in range(5):
    for sequence in corpus:
        optimizer.zero_grad()
        loss = -hmm.log_prob(sequence) / len(sequence)
        loss.backward()
        optimizer.step()
        bits.append(loss.item())
    print(sweep, sum(bits[-6:]) / 6)
print("RESULT", "%.6f" % (sum(bits[-6:]) / 6), *("%.5f" % v for v in hmm.move.detach().softmax(-1).flatten().tolist()))
