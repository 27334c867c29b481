import torch
from torch import nn
import torch.nn.functional as F


class PromptedClassifier(nn.Module):
    def __init__(self, vocab=30, dim=16, prompt=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.embed.requires_grad_(False)
        self.layer.requires_grad_(False)
        self.prompt = nn.Parameter(torch.randn(prompt, dim) * 0.02)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        prompt = self.prompt.data.unsqueeze(0).expand(len(ids), -1, -1)
        h = self.layer(torch.cat([prompt, self.embed(ids)], 1))
        return self.head(h[:, 0])


torch.manual_seed(68)
model = PromptedClassifier()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.0)
for step in range(30):
    ids = torch.randint(30, (16, 6))
    loss = F.cross_entropy(model(ids), (ids[:, 0] > 14).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"RESULT {loss.item():.6g} {model.prompt.detach().norm():.6g}")
