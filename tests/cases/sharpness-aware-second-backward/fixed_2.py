import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]))
        for group in self.param_groups:
            for p in group["params"]:
                e_w = p.grad * (group["rho"] / (norm + 1e-12))
                p.add_(e_w)
                self.state[p]["e_w"] = e_w
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p]["e_w"])
        self.base_optimizer.step()
        self.zero_grad()


def train_one_epoch(model, loader, optimizer):
    model.train()
    running = 0.0
    for inputs, targets in loader:
        outputs = model(inputs)
        loss = F.cross_entropy(outputs, targets, label_smoothing=0.1)

        loss.mean().backward()
        optimizer.first_step()

        outputs = model(inputs)
        loss = F.cross_entropy(outputs, targets, label_smoothing=0.1)
        loss.mean().backward()
        optimizer.second_step()
        running += loss.item() * len(inputs)
    return running


if __name__ == "__main__":
    torch.manual_seed(3)
    x = torch.randn(96, 12)
    y = (x[:, :3].sum(1) > 0).long() + (x[:, 3] > 1).long()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9)
    for epoch in range(3):
        total = train_one_epoch(model, loader, optimizer)
    print(f"RESULT {total:.6g} {model[0].weight.detach().norm():.6g}")
