import torch

torch.manual_seed(52)
x, y = torch.randn(100, 3), None
y = (x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3).sigmoid()
params = {"w": torch.randn(3, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
velocity = {k: torch.zeros_like(p) for k, p in params.items()}
history = []
for epoch in range(15):
    for i in range(0, 100, 25):
        pred = (x[i:i + 25] @ params["w"] + params["b"]).sigmoid()
        loss = torch.nn.functional.binary_cross_entropy(pred, y[i:i + 25])
        loss.backward()
        for k, p in params.items():
            velocity[k].mul_(0.8).add_(p.grad.data)
            p.data -= 0.3 * velocity[k]
            p.grad.data.zero_()
    history.append(float(loss))
print("RESULT", f"{history[-1]:.6g}", *(f"{v:.6g}" for v in params["w"].tolist()))
