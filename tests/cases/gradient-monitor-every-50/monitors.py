class Monitor:
    def __init__(self, every):
        self.every = every

    def due(self, step):
        return step > 0 and step % self.every == 0

    def after_loss(self, step, model, loss):
        pass


class LossMonitor(Monitor):
    def __init__(self, every):
        super().__init__(every)
        self.curve = []

    def after_loss(self, step, model, loss):
        if self.due(step):
            self.curve.append(loss.item())


class GradientMonitor(Monitor):
    """Norm of the gradient of every layer, for the dashboards."""

    def __init__(self, every):
        super().__init__(every)
        self.norms = {}

    def after_loss(self, step, model, loss):
        if not self.due(step):
            return
        model.zero_grad()
        loss.backward()
        for name, p in model.named_parameters():
            self.norms.setdefault(name, []).append(p.grad.norm().item())
