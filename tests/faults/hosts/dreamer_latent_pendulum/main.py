import itertools
import torch
from behaviour import Behaviour
from rssm import Latent, RSSM
from toy import experience

torch.manual_seed(1)
N = 8
world = RSSM(obs_dim=8, act_dim=1)
behaviour = Behaviour(world, feat_dim=world.deter + world.stoch, act_dim=1)
model_opt = torch.optim.Adam(world.parameters(), lr=2e-2)

latent = Latent(torch.zeros(N, world.deter), torch.zeros(N, world.stoch))
for step, (obs, act, rew) in enumerate(itertools.islice(experience(N, 6, seed=2), 14)):
    model_loss, latent, feats = world.loss(latent, obs, act, rew)
    model_opt.zero_grad()
    model_loss.backward()
    torch.nn.utils.clip_grad_norm_(world.parameters(), 10.0)
    model_opt.step()
    latent = Latent(*(z.detach() for z in latent))
    metrics = (model_loss.item(), *behaviour.learn(feats))
    if step % 3 == 1:
        print("step %2d  model %.4f  actor %+.4f  value %.4f" % (step, *metrics))

sizes = [sum(p.abs().sum().item() for p in m.parameters()) for m in (world, behaviour.actor, behaviour.value)]
print("RESULT " + " ".join("%.6g" % v for v in (*sizes, *metrics)))
