# misplaced-zero-grad
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters())


def apply():
    model.zero_grad()  #! failed
    optimizer.step()


for step in range(4):
    (model(torch.randn(4, 3)) ** 2).mean().backward()
    apply()
