# kind: recompute
# cause: hoisted-forward
# carrier: loss
import torch

torch.manual_seed(9)
w = torch.randn(4, requires_grad=True)
A, b = torch.randn(10, 4), torch.randn(10)
opt = torch.optim.LBFGS([w], lr=0.5, max_iter=5)
for _ in range(3):
    residual = A @ w - b  #- @built
    loss = residual.square().mean() + 1e-3 * w.pow(2).sum()  #-

    def closure():
        """Asked for several times a step."""
        opt.zero_grad()
        residual = A @ w - b  #+
        loss = residual.square().mean() + 1e-3 * w.pow(2).sum()  #+
        loss.backward()  #@failed @freed
        return loss

    opt.step(closure)
print("RESULT", *w.tolist())
