# lost-history: prediction loss
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
prediction = model(torch.randn(4, 3))
loss = (prediction.detach() ** 2).mean()  #! built
loss.backward()  #! failed
