# kind: detach
# cause: carried-state
# carrier: state["h"]
import torch
from torch import nn

torch.manual_seed(2)
f, g = nn.Linear(4, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*f.parameters(), *g.parameters()], lr=0.1)
state = {"h": torch.zeros(2, 4), "m": torch.ones(2, 4)}
for t in range(4):
    state["h"] = torch.tanh(f(torch.randn(2, 4)) + state["h"] * state["m"])  #@built
    state["m"] = torch.sigmoid(state["h"] + state["m"])
    loss = g(state["h"] * state["m"]).mean()
    opt.zero_grad()
    loss.backward()  #@failed @freed
    opt.step()
    state = {key: value.detach() for key, value in state.items()}  #+
print("RESULT", loss.item(), f.weight.sum().item())
