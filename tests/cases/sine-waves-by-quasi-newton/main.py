import torch
import torch.nn as nn


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 12)
        self.lstm2 = nn.LSTMCell(12, 12)
        self.linear = nn.Linear(12, 1)

    def forward(self, input, future=0):
        outputs = []
        n = input.size(0)
        h_t, c_t = torch.zeros(n, 12, dtype=torch.double), torch.zeros(n, 12, dtype=torch.double)
        h_t2, c_t2 = torch.zeros(n, 12, dtype=torch.double), torch.zeros(n, 12, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


torch.manual_seed(0)
t = torch.arange(40, dtype=torch.double)[None] + 20 * torch.rand(8, 1, dtype=torch.double)
data = torch.sin(t / 4)
input, target, test_input, test_target = data[2:, :-1], data[2:, 1:], data[:2, :-1], data[:2, 1:]
seq = Sequence()
seq.double()
criterion = nn.MSELoss()
optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=4)
for i in range(4):
    def closure():
        optimizer.zero_grad()
        out = seq(input)
        loss = criterion(out, target)
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        pred = seq(test_input, future=10)
        loss = criterion(pred[:, :-10], test_target)
print(f"RESULT {loss.item():.5f} {pred[0, -1].item():.5f}")
