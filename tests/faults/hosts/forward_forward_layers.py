# The forward-forward algorithm (Hinton 2022): every layer is trained by itself, no gradient goes from layer to layer.
import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(31337)
CLASSES, PIXELS = 4, 36
prototypes = torch.rand(CLASSES, PIXELS).gt(0.5).float()


def draw(n):
    label = torch.randint(0, CLASSES, (n,))
    noise = torch.rand(n, PIXELS).lt(0.12).float()
    return (prototypes[label] - noise).abs(), label


def overlay(x, label):
    """Writes the label into the first pixels."""
    x = x.clone()
    x[:, :CLASSES] = F.one_hot(label, CLASSES).float()
    return x


class FFLayer(nn.Linear):
    def __init__(self, n_in, n_out, threshold=2.0):
        super().__init__(n_in, n_out)
        self.threshold = threshold
        self.opt = optim.Adam(self.parameters(), lr=0.02)
        self.last = float("nan")

    def forward(self, x):
        direction = x / (x.norm(dim=1, keepdim=True) + 1e-4)
        return F.relu(super().forward(direction))

    def learn(self, pos, neg, rounds=3):
        for _ in range(rounds):
            g_pos = self(pos).pow(2).sum(1)
            g_neg = self(neg).pow(2).sum(1)
            loss = F.softplus(torch.cat([self.threshold - g_pos, g_neg - self.threshold])).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.last = loss.item()
        return self(pos).detach(), self(neg).detach()


class FFNet:
    def __init__(self, *widths):
        self.layers = [FFLayer(a, b) for a, b in zip(widths, widths[1:])]

    def train_on(self, x, label):
        wrong = (label + torch.randint(1, CLASSES, label.shape)) % CLASSES
        pos, neg = overlay(x, label), overlay(x, wrong)
        for layer in self.layers:
            pos, neg = layer.learn(pos, neg)

    @torch.no_grad()
    def predict(self, x):
        goodness = []
        for c in range(CLASSES):
            h, total = overlay(x, torch.full((len(x),), c)), 0.0
            for layer in self.layers:
                h = layer(h)
                total = total + h.pow(2).sum(1)
            goodness.append(total)
        return torch.stack(goodness, 1).argmax(1)


net = FFNet(PIXELS, 40, 40)
for batch in range(25):
    net.train_on(*draw(48))
    if batch % 8 == 0:
        print(batch, " ".join(f"{l.last:.3f}" for l in net.layers))
x, label = draw(300)
accuracy = (net.predict(x) == label).float().mean().item()
print(f"accuracy {accuracy:.3f}")
print("RESULT", accuracy, *(f"{l.last:.6g} {l.weight.abs().sum().item():.6g}" for l in net.layers))
