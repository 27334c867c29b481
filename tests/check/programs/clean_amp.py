import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast

net = nn.Linear(3, 1)
opt = torch.optim.AdamW(net.parameters())
scaler = GradScaler(enabled=False)
for x in torch.randn(10, 4, 3):
    opt.zero_grad(set_to_none=True)
    with autocast(enabled=False):
        loss = net(x).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
