# An autoencoder; the reconstruction error of every batch is kept for the plot at the end.
import torch
from torch import nn

torch.manual_seed(0)

encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

basis = torch.randn(8, 64)
history = {"loss": [], "sparsity": []}

for step in range(300):
    batch = torch.randn(128, 8) @ basis
    code = encoder(batch)
    loss = ((decoder(code) - batch) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    history["loss"].append(loss)
    history["sparsity"].append(code.abs().mean())
    if step % 50 == 0:
        recent = sum(history["loss"][-50:]) / len(history["loss"][-50:])
        print(f"step {step:3d}  loss {recent:.3f}")

print(f"best loss {min(history['loss']):.3f}")
