import torch

from automaton import CellularAutomaton
from pool import SamplePool, damage, seed_state
from target import ring_target

SIZE, CHANNELS, BATCH = 12, 8, 4
POOL, ROUNDS, LR = 16, 20, 2e-3


def per_sample_loss(state, goal):
    return (state[:, :4] - goal).pow(2).mean(dim=(1, 2, 3))


def normalise_gradients(parameters):
    for p in parameters:
        p.grad /= p.grad.norm() + 1e-8


def main():
    torch.manual_seed(1952)
    goal = ring_target(SIZE)
    ca = CellularAutomaton(CHANNELS, hidden=24)
    pool = SamplePool(seed_state(SIZE, CHANNELS), POOL)
    optimiser = torch.optim.Adam(ca.parameters(), lr=LR)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimiser, [10], gamma=0.3)

    losses = []
    for r in range(ROUNDS):
        slots, state = pool.sample(BATCH)
        # worst one starts over, best one loses a chunk
        ranking = per_sample_loss(state, goal).argsort(descending=True)
        state[ranking[0]] = pool.seed
        if r >= ROUNDS // 2:
            state[ranking[-1]] = damage(state[ranking[-1]])

        n = int(torch.randint(6, 11, ()))
        state = ca.run(state, n)
        overflow = (state - state.clamp(-2, 2)).abs().mean()
        loss = per_sample_loss(state, goal).mean() + overflow

        optimiser.zero_grad()
        loss.backward()
        normalise_gradients(ca.parameters())
        optimiser.step()
        scheduler.step()

        pool.commit(slots, state)
        losses.append(loss.item())
        if (r + 1) % 4 == 0:
            print("round %2d, %2d updates, loss %.5f" % (r + 1, n, losses[-1]))

    with torch.no_grad():
        grown = ca.run(pool.seed.unsqueeze(0), 12)
        final = per_sample_loss(grown, goal).item()
    size = sum(p.detach().abs().sum().item() for p in ca.parameters())
    print("RESULT %.6g %.6g %.6g %.6g" % (size, losses[-1], final, pool.states.abs().sum().item()))


if __name__ == "__main__":
    main()
