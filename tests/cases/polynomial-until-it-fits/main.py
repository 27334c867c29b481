from itertools import count

import torch
import torch.nn.functional as F

DEGREE = 4
torch.manual_seed(1)
W_target = torch.randn(DEGREE, 1)
b_target = torch.randn(1)


def features(x):
    return torch.cat([x.unsqueeze(1) ** i for i in range(1, DEGREE + 1)], 1)


def get_batch(size=32):
    x = torch.rand(size) - 0.5
    return features(x), features(x) @ W_target + b_target


fc = torch.nn.Linear(DEGREE, 1)
for index in count(1):
    x, y = get_batch()
    fc.zero_grad()
    output = F.smooth_l1_loss(fc(x), y)
    loss = output.item()
    output.backward()
    for param in fc.parameters():
        param.data.add_(-0.1 * param.grad)
    if loss < 2e-3 or index > 400:
        break
print(f"RESULT {index} {loss:.6f}")
