from logging import INFO, basicConfig, getLogger
from sys import stdout

from torch import manual_seed

from dt.agent import DecisionTransformer
from dt.data import Walks
from dt.train import Trainer, TrainerConfig

basicConfig(level=INFO, stream=stdout, format="%(name)s: %(message)s")
log = getLogger("main")


def run(seed: int = 8) -> None:
    manual_seed(seed)
    walks = Walks(count=120, length=10, seed=seed)
    agent = DecisionTransformer(states=walks.nodes, actions=walks.nodes, width=24, heads=2, context=walks.length)
    trainer = Trainer(agent, walks, TrainerConfig(epochs=3, batch_size=24, warmup=5))
    for epoch, loss in trainer.epochs():
        log.info("epoch %d  cross entropy %.4f", epoch, loss)
    wanted = [-3.0, -5.0, -8.0]
    reached = [agent.rollout(walks, start=0, target_return=w) for w in wanted]
    log.info("asked for %s, got %s", wanted, reached)
    print("RESULT", *(f"{v:.6g}" for v in [*trainer.losses[-2:], *reached, agent.size()]))


if __name__ == "__main__":
    run()
