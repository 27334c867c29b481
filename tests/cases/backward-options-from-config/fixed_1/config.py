CONFIG = {
    "seed": 7,
    "updates": 8,
    "horizon": 64,
    "epochs": 3,
    "minibatch": 16,
    "clip": 0.2,
    "entropy": 0.01,
    "lr": 3e-3,
    "backward": {},
}
