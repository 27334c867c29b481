import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_B = nn.Parameter(torch.randn(base.out_features, rank) * 0.1)

    def forward(self, x):
        return self.base(x) + x @ self.lora_A.T @ self.lora_B.T


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim).requires_grad_(False)
        self.up, self.down = LoRALinear(nn.Linear(dim, 2 * dim)), LoRALinear(nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, vocab=20, dim=12, depth=2, checkpointing=True):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim).requires_grad_(False)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.score = nn.Linear(dim, 2)
        self.checkpointing = checkpointing

    def forward(self, ids):
        h = self.embed(ids)
        for block in self.blocks:
            if self.checkpointing and self.training:
                h = checkpoint(block, h, use_reentrant=False)
            else:
                h = block(h)
        return self.score(h.mean(1))


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore")
    torch.manual_seed(17)
    model = Model()
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=5e-3, weight_decay=0.0)
    for step in range(30):
        ids = torch.randint(20, (16, 5))
        loss = F.cross_entropy(model(ids), (ids.sum(1) % 20 > 9).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.6g} {model.blocks[0].up.lora_B.detach().norm():.6g}")
