import torch
from torch import nn


def fit(net, stream, conf):
    optimizer = torch.optim.SGD(net.parameters(), lr=conf["lr"])
    criterion = nn.BCEWithLogitsLoss()
    scaler = torch.amp.GradScaler("cpu", enabled=conf["amp"])
    scores = []
    for x, y in stream:
        if conf["amp"]:
            optimizer.zero_grad()
            with torch.autocast("cpu"):
                loss = criterion(net(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss = criterion(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), conf["clip"])
            optimizer.step()
        scores.append(loss.item())
    return scores
