import torch

from policy import Evidence, Pointer


class Depot:
    def __init__(self, n_stops, seed):
        self.n = n_stops
        self.g = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            yield torch.rand(self.n, 2, generator=self.g)


def length(stops, order):
    ring = stops[order + order[:1]]
    return (ring[1:] - ring[:-1]).norm(dim=1).sum().item()


class Planner:
    def __init__(self, lr, bonus):
        self.policy = Pointer()
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.bonus = bonus
        self.baseline = None
        self.evidence = Evidence()

    def walk(self, stops):
        self.evidence = Evidence()
        left = torch.ones(len(stops), dtype=torch.bool)
        order = [0]
        left[0] = False
        while left.any():
            dist = self.policy(stops, order[-1], left.clone())
            choice = dist.sample()
            self.evidence.add(dist, choice)
            order.append(int(choice))
            left[choice] = False
        return order

    def learn(self, cost):
        self.baseline = cost if self.baseline is None else 0.9 * self.baseline + 0.1 * cost
        advantage = cost - self.baseline
        objective = advantage * self.evidence.logp - self.bonus * self.evidence.mean_entropy()
        self.opt.zero_grad()
        objective.backward()
        self.opt.step()


def main(episodes=60):
    torch.manual_seed(58)
    planner = Planner(lr=2e-2, bonus=0.02)
    costs = []
    for _, stops in zip(range(episodes), Depot(6, seed=59)):
        order = planner.walk(stops)
        costs.append(length(stops, order))
        planner.learn(costs[-1])
        if len(costs) % 20 == 0:
            print(f"{len(costs)} routes, mean length {sum(costs[-20:]) / 20:.4f}")
    weights = planner.policy.query.weight.detach()
    print(f"RESULT {sum(costs[-20:]) / 20:.6g} {weights.norm().item():.6g}")


if __name__ == "__main__":
    main()
