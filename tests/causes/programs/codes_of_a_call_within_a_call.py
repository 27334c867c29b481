# unreached-parameter: codes.table.weight codes.table codes; keep-history
import torch
from torch import nn
class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)
    def forward(self, z):
        near = self.table(torch.cdist(z, self.table.weight).argmin(1))  #! failed
        return z + (near - z).detach()  #! failed
encoder, codes = nn.Linear(6, 3), Codes()
opt = torch.optim.Adam([*encoder.parameters(), *codes.parameters()])
for x in torch.randn(6, 8, 6):
    z = codes(encoder(x))
    loss = (z - x[:, :3]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
