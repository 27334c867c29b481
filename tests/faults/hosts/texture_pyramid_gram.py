"""Texture synthesis, coarse to fine: Gram targets at every scale, image is the only thing optimised."""
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Dict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Acts = Dict[str, Tensor]


def random_filters(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    net = nn.Sequential(
        nn.Conv2d(1, 10, 5, padding=2, padding_mode="circular"), nn.Softplus(beta=5),
        nn.Conv2d(10, 10, 3, padding=1, padding_mode="circular"), nn.Softplus(beta=5),
    )
    return net.requires_grad_(False)


@contextmanager
def recording(net: nn.Module, where=("0", "2")):
    """Yields a dict that every forward fills with the activations of the named children."""
    acts: Acts = {}

    def keep(name, module, args, out):
        acts[name] = out

    with ExitStack() as stack:
        for name, child in net.named_children():
            if name in where:
                stack.callback(child.register_forward_hook(partial(keep, name)).remove)
        yield acts
        acts.clear()


def gram(a: Tensor) -> Tensor:
    f = a.flatten(2)
    return f @ f.mT / f.shape[-1]


def gram_targets(net: nn.Module, texture: Tensor) -> Acts:
    with torch.no_grad(), recording(net) as acts:
        net(texture)
        return {k: gram(v) for k, v in acts.items()}


def synthesise(net: nn.Module, start: Tensor, targets: Acts, iters: int, lr: float, tv: float = 1e-3):
    image = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([image], lr=lr)
    curve = []
    with recording(net) as acts:
        for _ in range(iters):
            optimizer.zero_grad()
            net(image)
            loss = sum(F.mse_loss(gram(acts[k]), g) for k, g in targets.items())
            loss = loss + tv * ((image - image.roll(1, -1)).pow(2).mean() + (image - image.roll(1, -2)).pow(2).mean())
            loss.backward()
            optimizer.step()
            curve.append(loss.item())
    return image.detach(), curve


def weave(size: int, gen: torch.Generator) -> Tensor:
    r = torch.arange(size)
    cells = ((r[:, None] // 4 + r[None, :] // 4) % 2).float()
    return (cells - 0.5 + 0.1 * torch.randn(size, size, generator=gen))[None, None]


def main() -> None:
    net = random_filters(88)
    gen = torch.Generator().manual_seed(3)
    texture = weave(32, gen)

    canvas = 0.2 * torch.randn(1, 1, 8, 8, generator=gen)
    summary = []
    for size in (8, 16, 32):
        exemplar = F.adaptive_avg_pool2d(texture, size)
        canvas = F.interpolate(canvas, size=(size, size), mode="bicubic", align_corners=False)
        canvas, curve = synthesise(net, canvas, gram_targets(net, exemplar), iters=12, lr=0.08)
        summary.append(curve[-1])
        print(f"{size:2d}px  first {curve[0]:.5f}  last {curve[-1]:.5f}")
    print("RESULT %.6g %s" % (canvas.abs().sum().item(), " ".join("%.6g" % v for v in summary)))


if __name__ == "__main__":
    main()
