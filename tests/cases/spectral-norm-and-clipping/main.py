import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.optim.swa_utils import AveragedModel

torch.manual_seed(160)
critic = nn.Sequential(spectral_norm(nn.Linear(4, 16)), nn.LeakyReLU(0.2), nn.Linear(16, 1))
average = AveragedModel(critic)
opt = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
for step in range(25):
    real, fake = torch.randn(32, 4) + 1, torch.randn(32, 4)
    loss = critic(fake).mean() - critic(real).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for p in critic[2].parameters():
        p.data.clamp_(-0.1, 0.1)
    if step % 5 == 4:
        average.update_parameters(critic)
with torch.no_grad():
    print(f"RESULT {loss.item():.6g} {average(torch.ones(1, 4)).item():.6g}")
