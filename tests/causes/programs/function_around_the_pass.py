# lost-history: scores hits p pred
import torch
def accuracy_loss(p, y):
    pred = (p > 0).int()  #! built
    hits = (pred == y).float().mean()  #! built
    return 1 - hits
w = torch.zeros(4, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.5)
X = torch.randn(30, 4)
y = (X[:, 0] > 0).int()
for _ in range(10):
    scores = X @ w
    opt.zero_grad()
    accuracy_loss(scores, y).backward()  #! failed
    opt.step()
