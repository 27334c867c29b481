import math
import torch
from torch import nn
from torch.autograd import Function
from torch.utils.data import TensorDataset, DataLoader


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential()
        self.feature.add_module('f_fc1', nn.Linear(2, 24))
        self.feature.add_module('f_relu1', nn.ReLU())
        self.feature.add_module('f_fc2', nn.Linear(24, 16))
        self.feature.add_module('f_relu2', nn.ReLU())
        self.class_classifier = nn.Sequential()
        self.class_classifier.add_module('c_fc1', nn.Linear(16, 2))
        self.domain_classifier = nn.Sequential()
        self.domain_classifier.add_module('d_fc1', nn.Linear(16, 16))
        self.domain_classifier.add_module('d_relu1', nn.ReLU())
        self.domain_classifier.add_module('d_fc2', nn.Linear(16, 2))

    def forward(self, input_data, alpha):
        feature = self.feature(input_data)
        reverse_feature = ReverseLayerF.apply(feature, alpha)
        return self.class_classifier(feature), self.domain_classifier(reverse_feature)


def two_moons(n, degrees, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(2, (n,), generator=g)
    t = math.pi * torch.rand(n, generator=g)
    x = torch.stack([torch.where(y == 0, t.cos(), 1 - t.cos()), torch.where(y == 0, t.sin(), 0.5 - t.sin())], 1)
    x = x - torch.tensor([0.5, 0.25]) + 0.07 * torch.randn(n, 2, generator=g)
    a = math.radians(degrees)
    rot = torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
    return TensorDataset(x @ rot.T, y)


torch.manual_seed(2015)
n_epoch = 4
dataset_source = two_moons(128, 0, 1)
dataset_target = two_moons(128, 30, 2)
dataloader_source = DataLoader(dataset_source, batch_size=16, shuffle=True)
dataloader_target = DataLoader(dataset_target, batch_size=16, shuffle=True)

my_net = DANN()
optimizer = torch.optim.SGD(my_net.parameters(), lr=0.2, momentum=0.9)
loss_class = nn.CrossEntropyLoss()
loss_domain = nn.CrossEntropyLoss()


def test(dataset):
    my_net.eval()
    n_correct = 0
    with torch.no_grad():
        for x, y in DataLoader(dataset, batch_size=64):
            class_output, _ = my_net(x, alpha=0)
            n_correct += (class_output.argmax(1) == y).sum().item()
    my_net.train()
    return n_correct / len(dataset)


len_dataloader = min(len(dataloader_source), len(dataloader_target))
for epoch in range(n_epoch):
    sums = [0.0, 0.0, 0.0]
    for i, ((s_img, s_label), (t_img, _)) in enumerate(zip(dataloader_source, dataloader_target)):
        p = float(i + epoch * len_dataloader) / n_epoch / len_dataloader
        alpha = 2. / (1. + math.exp(-10 * p)) - 1
        # annealed lr as in the paper
        for group in optimizer.param_groups:
            group['lr'] = 0.2 / (1 + 10 * p) ** 0.75

        my_net.zero_grad()
        class_output, domain_output = my_net(s_img, alpha=alpha)
        err_s_label = loss_class(class_output, s_label)
        err_s_domain = loss_domain(domain_output, torch.zeros(len(s_img), dtype=torch.long))

        _, domain_output = my_net(t_img, alpha=alpha)
        err_t_domain = loss_domain(domain_output, torch.ones(len(t_img), dtype=torch.long))

        err = err_t_domain + err_s_domain + err_s_label
        err.backward()
        optimizer.step()
        for k, e in enumerate((err_s_label, err_s_domain, err_t_domain)):
            sums[k] += e.item() / len_dataloader

    print('epoch: %d, err_s_label: %.4f, err_s_domain: %.4f, err_t_domain: %.4f' % (epoch, *sums))
    print('   accuracy source %.3f target %.3f' % (test(dataset_source), test(dataset_target)))

out = [sum(p.abs().sum().item() for p in part.parameters())
       for part in (my_net.feature, my_net.class_classifier, my_net.domain_classifier)]
print('RESULT ' + ' '.join('%.6g' % v for v in out + [sums[0], err.item()]))
