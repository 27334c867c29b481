class GradientProbe:
    def __init__(self, model, every):
        self.model, self.every = model, every
        self.count, self.norms = 0, []

    def before_backward(self, loss):
        self.count += 1
        if self.count % self.every:
            return
        loss.backward()
        self.norms.append(sum(p.grad.norm().item() for p in self.model.parameters()))
