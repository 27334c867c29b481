# clean
import torch
from torch import nn
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.pooler = nn.Linear(8, 8)
    def forward(self, x):
        h = self.layer(x)
        return h, torch.tanh(self.pooler(h[:, 0]))
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.tag = Encoder(), nn.Linear(8, 3)
    def forward(self, x):
        h, _ = self.enc(x)
        return self.tag(h)
m = Tagger()
opt = torch.optim.Adam(m.parameters())
for _ in range(10):
    x = torch.randn(2, 5, 8)
    loss = nn.functional.cross_entropy(m(x).flatten(0, 1), torch.randint(0, 3, (10,)))
    opt.zero_grad(); loss.backward(); opt.step()
