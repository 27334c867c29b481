# clean
import torch

model = torch.nn.Linear(3, 1)
for epoch in range(3):
    losses = []
    for step in range(8):
        loss = (model(torch.randn(4, 3)) ** 2).mean()
        loss.backward()
        model.zero_grad()
        losses.append(loss)
    print(len(losses), torch.stack(losses).mean().item())
