from torch import nn


class ActorCritic(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.core = nn.GRU(width, width, batch_first=True)
        self.policy_head = nn.Linear(width, vocab)
        self.value_head = nn.Linear(width, 1)

    def forward(self, ids, state=None):
        h, state = self.core(self.wte(ids), state)
        return self.policy_head(h), self.value_head(h).squeeze(-1), state


class RewardModel(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, width, mode="mean")
        self.score = nn.Sequential(nn.Tanh(), nn.Linear(width, 1, bias=False))

    def forward(self, ids):
        return self.score(self.bag(ids)).squeeze(-1)
