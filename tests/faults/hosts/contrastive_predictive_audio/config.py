CFG = {
    "seed": 8,
    "epochs": 3,
    "clips": 8,
    "batch": 6,
    "frames": 10,
    "frame": 16,
    "latent": 12,
    "context": 14,
    "horizon": 3,
    "optim": {"name": "Adam", "lr": 3e-3},
}
