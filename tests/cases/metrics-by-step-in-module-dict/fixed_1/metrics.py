_STORE = {"loss": {}, "norm": {}}


def record(kind, step, value):
    _STORE[kind][step] = value


def mean(kind, last):
    values = list(_STORE[kind].values())[-last:]
    return float(sum(values)) / len(values)
