# Supervised hashing: 12-bit codes, straight-through sign, gradient hooks for monitoring and scaling.
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F


class SignSTE(torch.autograd.Function):
  @staticmethod
  def forward(ctx, hidden):
    ctx.save_for_backward(hidden)
    return torch.where(hidden >= 0, 1.0, -1.0)

  @staticmethod
  def backward(ctx, gradOutput):
    (hidden,) = ctx.saved_tensors
    return gradOutput * (hidden.abs() <= 1.5)


class GradientProbe:
  """Remembers the mean absolute gradient that flows through the places it is attached to."""

  def __init__(self):
    self.seen = {}

  def attach(self, tensor, name, scale=1.0):
    def hook(grad):
      self.seen.setdefault(name, []).append(grad.abs().mean().item())
      return grad * scale if scale != 1.0 else None
    tensor.register_hook(hook)
    return tensor

  def lastMean(self, name, n=5):
    tail = self.seen[name][-n:]
    return sum(tail) / len(tail)


class HashNet(nn.Module):
  def __init__(self, nFeatures, nBits):
    super().__init__()
    self.bodyLayer = nn.Linear(nFeatures, 32)
    self.hashLayer = nn.Linear(32, nBits)

  def forward(self, x, probe=None):
    hidden = self.hashLayer(F.relu(self.bodyLayer(x)))
    if probe is not None:
      probe.attach(hidden, 'hidden')
    codes = SignSTE.apply(hidden)
    if probe is not None:
      probe.attach(codes, 'codes', scale=2.0)
    return hidden, codes


class CodeQueue:
  def __init__(self, maxBatches):
    self.batches = deque(maxlen=maxBatches)

  def add(self, codes, labels):
    self.batches.append((codes.detach(), labels))

  def contents(self):
    codes, labels = zip(*self.batches)
    return torch.cat(codes), torch.cat(labels)

  def __bool__(self):
    return len(self.batches) > 0


def pairLoss(codes, labels, otherCodes, otherLabels):
  agreement = codes @ otherCodes.t() / codes.shape[1]
  similar = (labels[:, None] == otherLabels[None, :]).float() * 2 - 1
  return (agreement - similar).pow(2).mean()


def makeBatch(prototypes, size):
  labels = torch.randint(len(prototypes), (size,))
  return prototypes[labels] + 0.8 * torch.randn(size, prototypes.shape[1]), labels


def precisionAtRadius(net, prototypes, radius=2):
  with torch.no_grad():
    x, labels = makeBatch(prototypes, 96)
    _, codes = net(x)
    distance = (codes.shape[1] - codes @ codes.t()) / 2
    near = (distance <= radius) & ~torch.eye(96, dtype=torch.bool)
    same = labels[:, None] == labels[None, :]
    return ((near & same).sum() / near.sum().clamp(min=1)).item()


def main():
  torch.manual_seed(256)
  prototypes = torch.randn(6, 16)
  net = HashNet(16, 12)
  optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
  # small weights of the last layer are left to learn faster
  handle = net.hashLayer.weight.register_hook(lambda g: g * 1.5)
  probe, queue, lossHistory = GradientProbe(), CodeQueue(3), []

  for step in range(30):
    x, labels = makeBatch(prototypes, 24)
    hidden, codes = net(x, probe)
    loss = pairLoss(codes, labels, codes, labels)
    if queue:
      loss = loss + 0.5 * pairLoss(codes, labels, *queue.contents())
    quantisation = (hidden.abs() - 1).pow(2).mean()
    balance = codes.mean(0).pow(2).mean()
    total = loss + 0.1 * quantisation + 0.1 * balance

    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    queue.add(codes, labels)
    lossHistory.append(total.item())
    if step == 19:
      handle.remove()
    if step % 10 == 9:
      print('step %2d loss %.4f grad(codes) %.2e grad(hidden) %.2e'
          % (step, lossHistory[-1], probe.lastMean('codes'), probe.lastMean('hidden')))

  precision = precisionAtRadius(net, prototypes)
  weightSum = sum(p.detach().abs().sum().item() for p in net.parameters())
  print('RESULT %.6g %.6g %.6g %.6g' % (weightSum, lossHistory[-1], probe.lastMean('hidden', 30), precision))


if __name__ == '__main__':
  main()
