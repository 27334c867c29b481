# missing-zero-grad:; add-zero-grad
import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder, critic = nn.Linear(4, 3), nn.Linear(3, 4), nn.Linear(3, 1)
opt_enc = torch.optim.SGD(encoder.parameters(), lr=0.05)
opt_dec = torch.optim.SGD(decoder.parameters(), lr=0.05)


def reconstruct(x):
    opt_dec.zero_grad()
    loss = (decoder(encoder(x)) - x).pow(2).mean()
    loss.backward()  #! failed
    opt_enc.step()
    opt_dec.step()


def match(x):
    opt_enc.zero_grad()
    loss = critic(encoder(x)).pow(2).mean()
    loss.backward()
    opt_enc.step()


for step in range(10):
    x = torch.randn(8, 4)
    reconstruct(x)
    match(x)
print("RESULT", encoder.weight.norm().item())
