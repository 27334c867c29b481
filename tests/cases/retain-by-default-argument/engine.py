import torch


def optimise(loss, optimizer, keep=True):
    optimizer.zero_grad()
    loss.backward(retain_graph=keep)
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 2.0)
    optimizer.step()
    return loss.item()
