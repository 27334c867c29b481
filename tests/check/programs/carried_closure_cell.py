import torch


def make_learner(n):
    w = torch.randn(n, n, requires_grad=True)
    state = torch.zeros(n)

    def step(x):
        nonlocal state
        state = torch.tanh(w @ state + x)
        loss = (state**2).sum()
        loss.backward()  # SP103
        with torch.no_grad():
            w.sub_(0.01 * w.grad)
            w.grad = None
        return float(loss)

    return step


learner = make_learner(4)
history = []
for t in range(20):
    history.append(learner(torch.randn(4)))
print(history[-1])
