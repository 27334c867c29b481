import logging
import tempfile
import warnings

import lightning.pytorch as pl
import torch

from infogan import InfoGAN
from toydata import loader

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)


def run():
    pl.seed_everything(303, verbose=False)
    gan = InfoGAN()
    with tempfile.TemporaryDirectory() as tmp:
        pl.Trainer(max_epochs=5, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                   enable_model_summary=False, default_root_dir=tmp).fit(gan, loader())
    gan.eval()
    with torch.no_grad():
        points, codes = gan.sample(200)
        recovered = (gan.critic(points)[1].argmax(1) == codes).float().mean().item()
    print("codes recovered %.3f, mean radius %.3f" % (recovered, points.norm(dim=1).mean().item()))
    parts = [sum(p.abs().sum().item() for p in m.parameters()) for m in (gan.generator, gan.critic.trunk, gan.critic.adv, gan.critic.code)]
    print("RESULT", *["%.6g" % v for v in parts], "%.6g %.6g" % (gan.curves["g"][-1], gan.curves["d"][-1]))


if __name__ == "__main__":
    run()
