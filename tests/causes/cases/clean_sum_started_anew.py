# clean
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    total = torch.zeros(())
    for batch in range(3):
        total = total + (model(torch.randn(4, 3)) ** 2).mean()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
