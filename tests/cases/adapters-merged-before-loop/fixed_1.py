import torch
from torch import nn
from torch.func import functional_call
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.query = nn.Linear(dim, dim, bias=False)
        self.value = nn.Linear(dim, dim, bias=False)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.embed(ids)
        att = (self.query(h) @ h.transpose(1, 2) / h.size(-1) ** 0.5).softmax(-1)
        return self.lm_head(h + att @ self.value(h))


class LoRA(nn.Module):
    def __init__(self, rows, cols, rank=2, alpha=4.0):
        super().__init__()
        self.A = nn.Parameter(torch.randn(rank, cols) * 0.1)
        self.B = nn.Parameter(torch.zeros(rows, rank))
        self.scale = alpha / rank

    def delta(self):
        return self.B @ self.A * self.scale


def merged_state(base, adapters):
    state = dict(base.named_parameters())
    for name, adapter in adapters.items():
        key = name.replace("_", ".")
        state[key] = state[key] + adapter.delta()
    return state


def finetune(base, adapters, ids, lr=1e-2, steps=12, accumulate=2):
    optimizer = torch.optim.AdamW(adapters.parameters(), lr=lr)
    for step in range(steps):
        weights = merged_state(base, adapters)
        batch = ids[torch.randint(len(ids), (4,))]
        logits = functional_call(base, weights, (batch[:, :-1],))
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        (loss / accumulate).backward()
        if (step + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(45)
    base = Backbone().requires_grad_(False)
    adapters = nn.ModuleDict({"query_weight": LoRA(16, 16), "value_weight": LoRA(16, 16)})
    ids = torch.randint(30, (40, 1)).add(torch.arange(9)) % 30
    last = finetune(base, adapters, ids)
    print(f"RESULT {last:.6g} {adapters['query_weight'].A.detach().norm():.6g}")
