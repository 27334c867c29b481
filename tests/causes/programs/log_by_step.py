# graph-leak: log
import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), .1)
log = {}
for i in range(25):
    out = net(torch.randn(4, 3))
    l = out.pow(2).mean()
    opt.zero_grad(); l.backward(); opt.step()
    log[i] = {"loss": l, "lr": .1}  #! failed
print(len(log))
