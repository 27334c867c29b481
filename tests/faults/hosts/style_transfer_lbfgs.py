import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(2024)
imsize = 16

# fake "photos"
gen = torch.Generator().manual_seed(5)
yy, xx = torch.meshgrid(torch.linspace(0, 1, imsize), torch.linspace(0, 1, imsize), indexing="ij")
content_img = torch.stack([xx, yy, ((xx - .5) ** 2 + (yy - .5) ** 2 < .1).float()]).unsqueeze(0)
style_img = (0.5 + 0.5 * torch.sin(20 * (xx + yy)) * torch.rand(3, 1, 1, generator=gen)).unsqueeze(0)

# no VGG at hand, random orthogonal filters are good enough
cnn = nn.Sequential(
    nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(inplace=True),
    nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(inplace=True),
    nn.MaxPool2d(2, 2),
    nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(inplace=True),
)
for m in cnn:
    if isinstance(m, nn.Conv2d):
        nn.init.orthogonal_(m.weight, gain=1.4)
        nn.init.zeros_(m.bias)
cnn.requires_grad_(False)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super(ContentLoss, self).__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    G = torch.mm(features, features.t())
    return G.div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super(StyleLoss, self).__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super(Normalization, self).__init__()
        self.mean = torch.tensor(mean).view(-1, 1, 1)
        self.std = torch.tensor(std).view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


def get_style_model_and_losses(cnn, style_img, content_img, content_layers=("conv_3",), style_layers=("conv_1", "conv_2", "conv_3")):
    content_losses, style_losses = [], []
    model = nn.Sequential(Normalization([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    i = 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = "conv_{}".format(i)
        elif isinstance(layer, nn.ReLU):
            name = "relu_{}".format(i)
            layer = nn.ReLU(inplace=False)
        else:
            name = "pool_{}".format(i)
        model.add_module(name, layer)

        if name in content_layers:
            content_loss = ContentLoss(model(content_img))
            model.add_module("content_loss_{}".format(i), content_loss)
            content_losses.append(content_loss)
        if name in style_layers:
            style_loss = StyleLoss(model(style_img))
            model.add_module("style_loss_{}".format(i), style_loss)
            style_losses.append(style_loss)
    return model, style_losses, content_losses


def run_style_transfer(cnn, content_img, style_img, input_img, num_steps=32, style_weight=2000, content_weight=1):
    model, style_losses, content_losses = get_style_model_and_losses(cnn, style_img, content_img)
    input_img.requires_grad_(True)
    optimizer = optim.LBFGS([input_img], max_iter=4)

    run, scores = [0], []
    while run[0] < num_steps:
        def closure():
            with torch.no_grad():
                input_img.clamp_(0, 1)
            optimizer.zero_grad()
            model(input_img)
            style_score = style_weight * sum(sl.loss for sl in style_losses)
            content_score = content_weight * sum(cl.loss for cl in content_losses)
            loss = style_score + content_score
            loss.backward()
            run[0] += 1
            scores.append((style_score.item(), content_score.item()))
            if run[0] % 8 == 0:
                print("run {}: Style Loss : {:4f} Content Loss: {:4f}".format(run[0], *scores[-1]))
            return loss

        optimizer.step(closure)

    with torch.no_grad():
        input_img.clamp_(0, 1)
    return input_img.detach(), scores


output, scores = run_style_transfer(cnn, content_img, style_img, content_img.clone())
print("RESULT %.6g %.6g %.6g %.6g" % (output.abs().sum().item(), (output - content_img).abs().sum().item(), *scores[-1]))
