# Fits a third-degree polynomial to a sine with plain gradient descent.
import torch

torch.manual_seed(0)

x = torch.linspace(-3, 3, 200)
y = torch.sin(x) + 0.05 * torch.randn(200)

powers = torch.stack([x**k / 3**k for k in range(4)])
coefficients = torch.randn(4, requires_grad=True)
optimizer = torch.optim.SGD([coefficients], lr=0.02)

for step in range(200):
    prediction = coefficients @ powers
    loss = ((prediction - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step:3d}  loss {loss.item():.4f}")

a, b, c, d = (coefficients.detach() / torch.tensor([1.0, 3.0, 9.0, 27.0])).tolist()
print(f"y = {a:.2f} + {b:.2f} x + {c:.2f} x^2 + {d:.2f} x^3")
