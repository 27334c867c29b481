# kind: recompute
# cause: hoisted-forward
# carrier: feats
import torch
from torch import nn
import torch.nn.functional as F


def main():
    torch.manual_seed(8)
    encoder = nn.Sequential(nn.Linear(5, 8), nn.Tanh())
    head = nn.Linear(8, 3)
    x = torch.randn(30, 5)
    y = torch.randint(3, (30,))
    opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.2)
    # features, once  #-
    hidden = encoder(x)  #- @built
    feats = F.normalize(  #-
        hidden,  #-
        dim=-1,  # rows  #-
    )  #-
    for epoch in range(4):
        # features, once  #+
        hidden = encoder(x)  #+
        feats = F.normalize(  #+
            hidden,  #+
            dim=-1,  # rows  #+
        )  #+
        loss = F.cross_entropy(head(feats), y)
        opt.zero_grad()
        loss.backward()  #@failed @freed
        opt.step()
    print("RESULT", loss.item(), encoder[0].weight.sum().item())


main()
