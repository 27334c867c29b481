import torch
import torch.nn.functional as F
from torch import nn

DIM, CLASSES = 16, 5


def frozen_encoder():
    enc = nn.Sequential(nn.Linear(DIM, 32), nn.GELU(), nn.Linear(32, DIM))
    for p in enc.parameters():
        p.requires_grad_(False)
    return enc


def encode_prompts(ctx, names, encoder):
    prompts = (ctx.mean(0, keepdim=True) + names) / 2
    return F.normalize(encoder(prompts), dim=-1)


def tune(images, labels, names, frozen, epochs=5, batch=20):
    ctx = nn.Parameter(0.02 * torch.randn(4, DIM))
    optimizer = torch.optim.SGD([ctx], lr=0.5, momentum=0.9)
    text_features = encode_prompts(ctx, names, frozen)
    for epoch in range(epochs):
        correct = 0
        for idx in torch.arange(len(images)).split(batch):
            logits = 8.0 * F.normalize(images[idx], dim=-1) @ text_features.t()
            loss = F.cross_entropy(logits, labels[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (logits.argmax(1) == labels[idx]).sum().item()
        print(f"epoch {epoch} acc {correct / len(images):.3f}")
    return ctx, loss


torch.manual_seed(12)
frozen = frozen_encoder()
names = torch.randn(CLASSES, DIM)
labels = torch.randint(CLASSES, (100,))
images = frozen(names)[labels] + 0.1 * torch.randn(100, DIM)
ctx, loss = tune(images, labels, names, frozen)
print(f"RESULT {loss.item():.6g} {ctx.abs().sum().item():.6g}")
