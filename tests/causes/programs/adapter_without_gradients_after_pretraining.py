# unreached-parameter: adapter self.adapter pair.adapter
import torch
from torch import nn
from torch.nn import functional as F


class Pair(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.teacher, self.student = teacher, nn.Linear(4, 3)
        self.adapter = nn.Linear(6, 3)

    def forward(self, x):
        with torch.no_grad():  #! built failed
            hint = self.adapter(self.teacher(x))
        return F.mse_loss(self.student(x), hint)


def main():
    torch.manual_seed(0)
    teacher = nn.Linear(4, 6)
    optimizer = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for _ in range(50):
        x = torch.randn(8, 4)
        optimizer.zero_grad()
        F.mse_loss(teacher(x), torch.cat([x, x[:, :2]], 1)).backward()
        optimizer.step()
    pair = Pair(teacher.requires_grad_(False))
    optimizer = torch.optim.SGD([*pair.student.parameters(), *pair.adapter.parameters()], lr=0.1)
    for _ in range(40):
        loss = pair(torch.randn(8, 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
