# lost-history: ids logits
import torch
from torch import nn
from torch.nn import functional as F

class Tokenizer(nn.Module):
    def __init__(self, n=12, d=6):
        super().__init__()
        self.proj = nn.Linear(d, n)

    def forward(self, feats):
        logits = self.proj(feats)
        ids = logits.argmax(-1)  #! built
        return F.one_hot(ids, logits.shape[-1]).float()  #! built

class Wrapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = Tokenizer()

    def forward(self, x):
        onehot = self.tok(x)
        return onehot @ torch.eye(12)[:, :4]

def main():
    torch.manual_seed(1)
    w = Wrapper()
    o = torch.optim.SGD(w.parameters(), lr=.1)
    for _ in range(2):
        pred = w(torch.randn(7, 6))
        cost = F.mse_loss(pred, torch.zeros(7, 4))
        o.zero_grad()
        cost.backward()  #! failed
        o.step()

main()
