import torch

from render import splat
from scene import Scene


def run(scene, target, iters=30):
    optimizer = torch.optim.Adam([
        {"params": [scene.means], "lr": 2e-2},
        {"params": [scene.log_scales, scene.angles], "lr": 1e-2},
        {"params": [scene.colors], "lr": 5e-2},
    ])
    for _ in range(iters):
        image = splat(scene, 12)
        loss = (image - target).abs().mean()
        loss = loss + 0.01 * torch.exp(scene.log_scales).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(56)
    goal = splat(Scene.random(5), 12).detach()
    scene = Scene.random(5)
    print(f"RESULT {run(scene, goal):.6g} {scene.angles.detach().norm():.6g}")
