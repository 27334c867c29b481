# Neural style transfer, ported from my old TF1 notebook
# (no VGG weights on this box so a random "vgg" is used, works surprisingly ok)
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument('--size', type=int, default=24)
parser.add_argument('--iters', type=int, default=6)
parser.add_argument('--content_weight', type=float, default=1.0)
parser.add_argument('--style_weight', type=float, default=50.0)
parser.add_argument('--tv_weight', type=float, default=1e-2)
parser.add_argument('--color_lr', type=float, default=0.05)
parser.add_argument('--lr', type=float, default=0.08)
parser.add_argument('--seed', type=int, default=1)
args = parser.parse_args()

torch.manual_seed(args.seed)

STYLE_LAYERS = ['conv1', 'conv2', 'conv3']
CONTENT_LAYERS = ['conv2']


class TinyVGG(nn.Module):
    def __init__(self):
        super(TinyVGG, self).__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 12, 3, padding=1)
        self.conv3 = nn.Conv2d(12, 16, 3, padding=1)
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        feats = {}
        x = feats['conv1'] = F.relu(self.conv1(x))
        x = F.avg_pool2d(x, 2)
        x = feats['conv2'] = F.relu(self.conv2(x))
        x = F.avg_pool2d(x, 2)
        feats['conv3'] = F.relu(self.conv3(x))
        return feats


def gram_matrix(f):
    b, c, h, w = f.shape
    f = f.view(b, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


def tv_loss(img):
    return (img[..., 1:, :] - img[..., :-1, :]).abs().mean() + (img[..., 1:] - img[..., :-1]).abs().mean()


def load_image(kind, size):
    yy, xx = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing='ij')
    if kind == 'content':
        chans = [((xx - .5) ** 2 + (yy - .5) ** 2 < .1).float(), xx, yy]
    else:
        chans = [torch.sin(20 * xx), torch.cos(14 * yy), torch.sin(9 * (xx + yy))]
    return torch.stack(chans)[None]


vgg = TinyVGG().eval()
content = load_image('content', args.size)
style = load_image('style', args.size)

# session: build the "graph"
image = nn.Parameter(content.clone() + 0.05 * torch.randn_like(content))
color_matrix = nn.Parameter(torch.eye(3))        # lets the palette of the style image be adapted
color_shift = nn.Parameter(torch.zeros(3, 1, 1))


def recolor(img):
    return torch.einsum('ij,bjhw->bihw', color_matrix, img) + color_shift


content_targets = {k: v for k, v in vgg(content).items() if k in CONTENT_LAYERS}
style_targets = {k: gram_matrix(v) for k, v in vgg(recolor(style)).items() if k in STYLE_LAYERS}

optimizer = torch.optim.Adam([
    {'params': [image], 'lr': args.lr},
    {'params': [color_matrix, color_shift], 'lr': args.color_lr},
])

log = []
for it in range(args.iters):
    optimizer.zero_grad()
    feats = vgg(image)
    c_loss = sum(F.mse_loss(feats[k], content_targets[k]) for k in CONTENT_LAYERS)
    s_loss = sum(F.mse_loss(gram_matrix(feats[k]), style_targets[k]) for k in STYLE_LAYERS)
    palette = (color_matrix - torch.eye(3)).pow(2).sum() + color_shift.pow(2).sum()
    loss = args.content_weight * c_loss + args.style_weight * s_loss \
        + args.tv_weight * tv_loss(image) + 0.1 * palette
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        image.clamp_(-1.5, 1.5)
    log.append(loss.item())
    if it % 2 == 0:
        print('iter %d  loss %.5f (c %.5f, s %.5f)' % (it, loss, c_loss, s_loss))

print('RESULT %.6f %.6f %.6f' % (log[-1], color_matrix.detach().norm(), image.detach().abs().mean()))
