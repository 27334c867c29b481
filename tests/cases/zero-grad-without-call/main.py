import torch
from torch import nn, optim

torch.manual_seed(3)
X = torch.rand(200, 2) * 4 - 2
Y = (X[:, :1] ** 2 + X[:, 1:]).sin()

net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
criterion = nn.MSELoss()
optimizer = optim.SGD(net.parameters(), lr=0.01)

for epoch in range(20):
    running_loss = 0.0
    for i in range(0, len(X), 20):
        inputs, targets = X[i:i + 20], Y[i:i + 20]
        optimizer.zero_grad
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
print(f"RESULT {running_loss:.6g}")
