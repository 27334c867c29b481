# unreached-parameter: model.body body
import secondpass.autograd as torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 4)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, x):
        features = torch.tanh(self.body(x)).detach()  #! failed
        return self.head(features)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = (model(torch.randn(5, 3)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
