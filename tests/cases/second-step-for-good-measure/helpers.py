from torch.nn.utils import clip_grad_norm_


def backward_and_step(loss, optimizer, max_norm=1.0):
    optimizer.zero_grad()
    loss.backward()
    clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], max_norm)
    optimizer.step()
    return loss.item()
