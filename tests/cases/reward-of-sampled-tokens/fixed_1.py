import torch
from torch import nn
import torch.nn.functional as F


class Policy(nn.Module):
    def __init__(self, vocab=16, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, state=None):
        h, state = self.rnn(self.embed(ids), state)
        return self.head(h), state

    def generate(self, prompt, length):
        ids, state, out, logps = prompt, None, [], []
        for _ in range(length):
            logits, state = self(ids, state)
            ids = torch.multinomial(F.softmax(logits[:, -1], dim=-1), 1)
            out.append(ids)
            logps.append(F.log_softmax(logits[:, -1], dim=-1).gather(1, ids))
        return torch.cat(out, 1), torch.cat(logps, 1).sum(1)


class RewardModel(nn.Module):
    def __init__(self, vocab=16, dim=12):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.score = nn.Linear(dim, 1)

    def forward(self, ids):
        return self.score(self.embed(ids)).squeeze(-1)


def main():
    torch.manual_seed(71)
    policy, reward_model = Policy(), RewardModel().requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
    for step in range(10):
        prompt = torch.randint(16, (8, 4))
        response, logp = policy.generate(prompt, 6)
        reward = reward_model(response)
        loss = -(logp * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.6g}")


if __name__ == "__main__":
    main()
