# carried-state: self.hidden
import secondpass.autograd as torch


class Memory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.RNNCell(3, 5)
        self.hidden = torch.zeros(2, 5)

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)  #! built
        return self.hidden.sum(1)


model = Memory()
optimizer = torch.optim.Adam(model.parameters())
for step in range(4):
    loss = (model(torch.randn(2, 3)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()  #! freed failed
    optimizer.step()
