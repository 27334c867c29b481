import torch
from torch import nn

torch.manual_seed(95)
rnn, out = nn.GRU(1, 12), nn.Linear(12, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *out.parameters()], lr=5e-3)
series = torch.cos(torch.linspace(0, 30, 151)).view(-1, 1, 1)
hidden = torch.zeros(1, 1, 12)
for i in range(0, 150, 10):
    hidden = hidden.detach()
    y, hidden = rnn(series[i:i + 10], hidden)
    loss = nn.functional.mse_loss(out(y), series[i + 1:i + 11])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 50 == 0:
        print(f"{i:4d} {loss.item():.5f}")
print(f"RESULT {loss.item():.6g}")
