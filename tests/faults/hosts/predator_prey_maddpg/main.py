from collections import deque

import torch

from agents import Team
from world import Chase

torch.manual_seed(8080)
rng = torch.Generator().manual_seed(8081)
world = Chase(rng)
team = Team(world.names, obs_dim=6, act_dim=2)
storage = deque(maxlen=300)


def draw(k=24):
    rows = [storage[i] for i in torch.randint(0, len(storage), (k,), generator=rng).tolist()]
    return [{n: torch.stack([row[c][n] for row in rows]) for n in world.names} for c in range(4)]


updates, episode = 0, 0
while updates < 14:
    views, over, score = world.reset(), False, dict.fromkeys(world.names, 0.0)
    while not over:
        acts = {n: team.agents[n].explore(views[n], 0.4, rng) for n in world.names}
        nxt, rews, over = world.step(acts)
        storage.append((views, acts, rews, nxt))
        views = nxt
        for n in world.names:
            score[n] += rews[n].item()
        if len(storage) >= 45 and world.t % 5 == 0:
            report = team.learn(draw())
            updates += 1
    episode += 1
    line = "  ".join(f"{n} {s:+.2f}" for n, s in score.items())
    print(f"episode {episode}  updates {updates:2d}  {line}")

numbers = []
for n, ag in team.agents.items():
    numbers += [sum(p.abs().sum().item() for p in net.parameters()) for net in (ag.actor, ag.critic)]
    numbers.append(report[n][0])
print("RESULT", " ".join("%.6g" % v for v in numbers))
