# Homework 3 - classify tones
# (part b: add center loss to the classifier from part a)
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)

# ---- data ----
n_classes = 4
n_train = 96
n_test = 48
length = 128
t = torch.arange(length) / length

freqs = [5.0, 9.0, 14.0, 20.0]
waves = []
labels = []
for i in range(n_train + n_test):
    c = i % n_classes
    phase = torch.rand(1) * 2 * math.pi
    w = torch.sin(2 * math.pi * freqs[c] * t + phase) + 0.6 * torch.randn(length)
    waves.append(w)
    labels.append(c)
waves = torch.stack(waves)
labels = torch.tensor(labels)

# spectrogram as features
window = torch.hann_window(32)
spec = torch.stft(waves, 32, 16, window=window, return_complex=True).abs()
spec = torch.log1p(spec)
spec = (spec - spec.mean()) / spec.std()
x_train = spec[:n_train]
y_train = labels[:n_train]
x_test = spec[n_train:]
y_test = labels[n_train:]
print("spectrogram shape", tuple(spec.shape))

# ---- model ----
conv = nn.Conv1d(spec.shape[1], 16, 3, padding=1)
fc1 = nn.Linear(16, 8)
fc2 = nn.Linear(8, n_classes)
params = list(conv.parameters()) + list(fc1.parameters()) + list(fc2.parameters())
optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)

centers = torch.zeros(n_classes, 8)
alpha = 0.3        # how fast the centers move
lam = 0.05         # weight of the center loss
batch_size = 24
losses = []

# ---- training ----
for epoch in range(8):
    perm = torch.randperm(n_train)
    running_loss = 0.0
    running_center = 0.0
    correct = 0
    for b in range(0, n_train, batch_size):
        idx = perm[b:b + batch_size]
        x = x_train[idx]
        y = y_train[idx]

        optimizer.zero_grad()
        h = F.relu(conv(x)).mean(dim=2)
        feat = torch.tanh(fc1(h))
        out = fc2(feat)
        ce = F.cross_entropy(out, y)
        center_loss = ((feat - centers[y]) ** 2).sum(dim=1).mean()
        loss = ce + lam * center_loss
        loss.backward()
        optimizer.step()

        # move the centers
        f = feat.detach()
        for c in range(n_classes):
            if (y == c).sum() > 0:
                centers[c] = centers[c] + alpha * (f[y == c].mean(dim=0) - centers[c])

        running_loss += loss.item()
        running_center += center_loss.item()
        correct += (out.argmax(1) == y).sum().item()
    losses.append(running_loss / (n_train / batch_size))
    print("epoch %d loss %.4f center %.4f train acc %.3f" % (epoch, losses[-1], running_center / 4, correct / n_train))

# ---- test ----
with torch.no_grad():
    h = F.relu(conv(x_test)).mean(dim=2)
    feat = torch.tanh(fc1(h))
    out = fc2(feat)
    acc = (out.argmax(1) == y_test).float().mean().item()
    d = ((feat[:, None] - centers[None]) ** 2).sum(2)
    acc_center = (d.argmin(1) == y_test).float().mean().item()
print("test acc", round(acc, 4), "nearest center acc", round(acc_center, 4))

total = 0.0
for p in params:
    total += p.abs().sum().item()
print("RESULT %.6g %.6g %.6g %.6g" % (total, centers.abs().sum().item(), losses[-1], acc))
