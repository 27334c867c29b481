"""A made-up knowledge base: every document states the attribute of one entity."""
import torch

ENTITIES, ATTRIBUTES, FILLER = 20, 5, 8
VOCAB = ENTITIES + ATTRIBUTES + FILLER


def documents(gen):
    attribute = torch.randint(0, ATTRIBUTES, (ENTITIES,), generator=gen)
    filler = ENTITIES + ATTRIBUTES + torch.randint(0, FILLER, (ENTITIES, 2), generator=gen)
    docs = torch.cat([torch.arange(ENTITIES)[:, None], (ENTITIES + attribute)[:, None], filler], dim=1)
    return docs, attribute


def questions(attribute, n, gen):
    entity = torch.randint(0, ENTITIES, (n,), generator=gen)
    filler = ENTITIES + ATTRIBUTES + torch.randint(0, FILLER, (n, 1), generator=gen)
    return torch.cat([entity[:, None], filler], dim=1), attribute[entity], entity
