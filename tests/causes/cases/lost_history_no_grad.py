# lost-history
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    with torch.no_grad():
        prediction = model(torch.randn(4, 3))  #! built
    loss = (prediction**2).mean()
    optimizer.zero_grad()
    loss.backward()  #! failed
    optimizer.step()
