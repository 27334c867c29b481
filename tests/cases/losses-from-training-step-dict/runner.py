import torch


class Runner:
    def __init__(self, module, lr):
        self.module = module
        self.optimizer = torch.optim.Adam(module.parameters(), lr=lr)

    def fit(self, batches, epochs):
        log = {}
        for _ in range(epochs):
            for batch in batches:
                self.optimizer.zero_grad()
                out = self.module.training_step(batch)
                for name, value in out.items():
                    if name.startswith("loss"):
                        value.backward()
                    log[name] = value.item()
                self.optimizer.step()
        return log
