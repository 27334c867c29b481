import torch


class TaskBalancer:
    def __init__(self, tasks):
        self.logits = torch.zeros(tasks, requires_grad=True)

    def __call__(self, losses):
        weights = torch.softmax(self.logits, dim=0)
        return (weights * losses).sum() - 0.01 * weights.log().sum()
