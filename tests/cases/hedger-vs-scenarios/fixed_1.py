# robust hedging: a scenario maker tries to hurt a hedging policy, which learns to withstand it
import math

import torch
import torch.nn as nn

S0, K, STEPS, PATHS = 1.0, 1.0, 6, 64
torch.manual_seed(99)


class ScenarioMaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(STEPS, 12), nn.SiLU(), nn.Linear(12, STEPS))

    def forward(self, noise):
        vol = 0.1 + 0.2 * torch.sigmoid(self.net(noise))
        logret = vol * noise * math.sqrt(1 / STEPS) - 0.5 * vol ** 2 / STEPS
        return S0 * torch.exp(torch.cumsum(torch.cat([torch.zeros(len(noise), 1), logret], 1), 1)), vol


class Hedger(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())

    def pnl(self, prices):
        gains = 0
        for t in range(STEPS):
            tau = torch.full((len(prices), 1), 1 - t / STEPS)
            delta = self.net(torch.cat([prices[:, t:t + 1], tau], 1)).squeeze(1)
            gains = gains + delta * (prices[:, t + 1] - prices[:, t])
        payoff = torch.relu(prices[:, -1] - K)
        return gains - payoff


def shortfall(pnl, q=0.2):
    k = max(1, int(q * len(pnl)))
    return -pnl.topk(k, largest=False).values.mean()


def main(rounds=15):
    maker, hedger = ScenarioMaker(), Hedger()
    opt = {"maker": torch.optim.RMSprop(maker.parameters(), lr=2e-3),
           "hedger": torch.optim.RMSprop(hedger.parameters(), lr=5e-3)}
    curve = []
    for r in range(rounds):
        noise = torch.randn(PATHS, STEPS)
        prices, vol = maker(noise)

        # hedger's move
        risk = shortfall(hedger.pnl(prices.detach()))
        opt["hedger"].zero_grad()
        risk.backward()
        opt["hedger"].step()

        # scenario maker's move: hurt, but keep the volatility plausible
        attack = -shortfall(hedger.pnl(prices)) + 5.0 * (vol.mean() - 0.2) ** 2
        opt["maker"].zero_grad()
        attack.backward()
        opt["maker"].step()

        curve.append(risk.item())
        if r % 5 == 0:
            print(f"round {r}: shortfall {curve[-1]:.4f} vol {vol.mean().item():.3f}")

    checksum = sum(p.sum().item() for p in [*maker.parameters(), *hedger.parameters()])
    print(f"RESULT {sum(curve):.6g} {checksum:.6g}")


main()
