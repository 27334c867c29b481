# freed-access
import secondpass.autograd as torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


x = torch.ones(3, requires_grad=True)
y = Double.apply(x)  #! built
y.sum().backward()  #! freed
print(y.grad_fn.saved_tensors)  #! failed
