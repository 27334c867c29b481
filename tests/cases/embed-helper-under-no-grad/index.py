import torch
import torch.nn.functional as F


@torch.no_grad()
def embed(model, x):
    return F.normalize(model(x), dim=1)


def nearest(model, queries, items):
    return (embed(model, queries) @ embed(model, items).t()).argmax(1)
