import torch


class TaskBalancer:
    def __init__(self, tasks):
        self.logits = torch.zeros(tasks, requires_grad=True)
        self.weights = torch.softmax(self.logits, dim=0)

    def __call__(self, losses):
        return (self.weights * losses).sum() - 0.01 * self.weights.log().sum()
