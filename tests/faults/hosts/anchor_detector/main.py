import argparse
import torch
import torch.nn as nn
from losses import BalancedDetectionLoss
from utils import AverageMeter, adjust_learning_rate

parser = argparse.ArgumentParser(description='toy one-stage detector')
parser.add_argument('--epochs', default=4, type=int)
parser.add_argument('--batches', default=6, type=int)
parser.add_argument('--lr', default=0.01, type=float)

GRID, CELL = 4, 4


class Detector(nn.Module):
    def __init__(self):
        super(Detector, self).__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(inplace=True))
        self.obj_head = nn.Conv2d(16, 1, 1)
        self.box_head = nn.Conv2d(16, 4, 1)
        nn.init.constant_(self.obj_head.bias, -2.0)

    def forward(self, x):
        f = self.backbone(x)
        return self.obj_head(f).squeeze(1), self.box_head(f).permute(0, 2, 3, 1)


def make_batch(n):
    images = 0.2 * torch.randn(n, 1, GRID * CELL, GRID * CELL)
    obj = torch.zeros(n, GRID, GRID)
    box = torch.zeros(n, GRID, GRID, 4)
    for i in range(n):
        for _ in range(2):
            w, h = torch.randint(3, 7, (2,)).tolist()
            x, y = torch.randint(0, GRID * CELL - 6, (2,)).tolist()
            images[i, 0, y:y + h, x:x + w] += 1
            cx, cy = x + w / 2, y + h / 2
            gx, gy = int(cx // CELL), int(cy // CELL)
            obj[i, gy, gx] = 1
            box[i, gy, gx] = torch.tensor([cx / CELL - gx, cy / CELL - gy, w / CELL, h / CELL])
    return images, obj, box


def train(model, criterion, optimizer, epoch, args):
    losses, obj_m, box_m = [AverageMeter(n, ':.4f') for n in ('Loss', 'Obj', 'Box')]
    model.train()
    for _ in range(args.batches):
        images, obj, box = make_batch(8)
        logits, deltas = model(images)
        loss, parts = criterion(logits, deltas, obj, box)

        for meter, value in zip((losses, obj_m, box_m), (loss.item(), parts['obj'], parts['box'])):
            meter.update(value, images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('Epoch: [%d]  %s  %s  %s' % (epoch, losses, obj_m, box_m))
    return losses.avg, obj_m.avg, box_m.avg


def validate(model):
    hits = AverageMeter('Acc', ':.3f')
    model.eval()
    with torch.no_grad():
        images, obj, _ = make_batch(32)
        logits, _ = model(images)
        hits.update(((logits > 0) == (obj > 0.5)).float().mean().item(), images.size(0))
    print(' * ' + str(hits))
    return hits.avg


def main():
    args = parser.parse_args()
    torch.manual_seed(20)
    model = Detector()
    criterion = BalancedDetectionLoss()
    optimizer = torch.optim.Adam(model.parameters(), args.lr)
    for epoch in range(args.epochs):
        adjust_learning_rate(optimizer, epoch, args)
        stats = train(model, criterion, optimizer, epoch, args)
        acc = validate(model)
    size = sum(p.detach().abs().sum().item() for p in model.parameters())
    print('RESULT %.6g %.6g %.6g %.6g %.6g' % ((size, acc) + stats))


if __name__ == '__main__':
    main()
