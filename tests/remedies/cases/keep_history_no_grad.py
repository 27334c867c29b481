# kind: keep-history
# cause: lost-history
# carrier: out
import torch
from torch import nn

torch.manual_seed(20)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def predict(model, x):
    """For training and for tests."""
    with torch.no_grad():  #-
        # centred  #-
        x = x - x.mean(0)  #-
        out = model(  #- @built
            x)  #-
    # centred  #+
    x = x - x.mean(0)  #+
    out = model(  #+
        x)  #+
    return out


for _ in range(4):
    loss = predict(net, torch.randn(8, 3)).square().mean()
    opt.zero_grad()
    loss.backward()  #@failed
    opt.step()
print("RESULT", loss.item(), net[0].weight.sum().item())
