import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(555)


class PatchNet(nn.Module):
    def __init__(self, patchDim=6, hiddenDim=20, outDim=24):
        super().__init__()
        self.patchEmbed = nn.Linear(patchDim, hiddenDim)
        self.mixer = nn.Sequential(nn.LayerNorm(hiddenDim), nn.Linear(hiddenDim, hiddenDim), nn.GELU(), nn.Linear(hiddenDim, hiddenDim))
        self.projector = nn.Linear(hiddenDim, 10)
        self.lastLayer = nn.Linear(10, outDim, bias=False)

    def forward(self, crops):
        h = self.patchEmbed(crops)
        h = (h + self.mixer(h)).mean(dim=1)
        return self.lastLayer(F.normalize(self.projector(h), dim=-1))


class DinoLoss(nn.Module):
    def __init__(self, outDim, studentTemp=0.1, centerMomentum=0.9):
        super().__init__()
        self.studentTemp = studentTemp
        self.centerMomentum = centerMomentum
        self.register_buffer("center", torch.zeros(1, outDim))

    def forward(self, studentOut, teacherOut, teacherTemp):
        targets = [F.softmax((t - self.center) / teacherTemp, dim=-1) for t in teacherOut]
        logProbs = [F.log_softmax(s / self.studentTemp, dim=-1) for s in studentOut]
        total, pairs = 0.0, 0
        for i, target in enumerate(targets):
            for j, lp in enumerate(logProbs):
                if i != j:
                    total = total + -(target * lp).sum(dim=-1).mean()
                    pairs += 1
        self.updateCenter(torch.cat(teacherOut))
        return total / pairs

    @torch.no_grad()
    def updateCenter(self, teacherOut):
        batchCenter = teacherOut.mean(dim=0, keepdim=True)
        self.center = self.center * self.centerMomentum + batchCenter * (1 - self.centerMomentum)


def makeImages(count):
    prototype = torch.randn(5, 9, 6)
    label = torch.arange(count) % 5
    return prototype[label] + 0.3 * torch.randn(count, 9, 6), label


def randomCrop(images, keep):
    order = torch.rand(images.shape[:2]).argsort(dim=1)[:, :keep]
    picked = torch.gather(images, 1, order[..., None].expand(-1, -1, images.shape[-1]))
    return picked + 0.1 * torch.randn_like(picked)


def temperatureSchedule(start, end, warmup):
    step = 0
    while True:
        yield start + (end - start) * min(1.0, step / warmup)
        step += 1


images, labels = makeImages(80)
student, teacher = PatchNet(), PatchNet()
teacher.load_state_dict(student.state_dict())

criterion = DinoLoss(24)
optimizer = torch.optim.AdamW(student.parameters(), lr=8e-3, weight_decay=0.01)
momentum = 0.96
lossHistory, entropyHistory = [], []

for step, teacherTemp in zip(range(25), temperatureSchedule(0.04, 0.07, 15)):
    batch = images[torch.randint(len(images), (20,))]
    globalCrops = [randomCrop(batch, 7) for _ in range(2)]
    localCrops = [randomCrop(batch, 3) for _ in range(3)]

    with torch.no_grad():
        teacherOut = [teacher(c) for c in globalCrops]
    studentOut = [student(c) for c in globalCrops + localCrops]
    loss = criterion(studentOut, teacherOut, teacherTemp)

    optimizer.zero_grad()
    loss.backward()
    if step < 3:
        student.lastLayer.weight.grad.mul_(0.1)
    nn.utils.clip_grad_norm_(student.parameters(), 3.0)
    optimizer.step()

    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow.mul_(momentum).add_((1 - momentum) * fast)
        mean = F.softmax(torch.cat(teacherOut) / teacherTemp, dim=-1).mean(0)
        entropyHistory.append(-(mean * (mean + 1e-9).log()).sum().item())
    lossHistory.append(loss.item())
    if step % 8 == 0:
        print(f"step {step:02d} loss {lossHistory[-1]:.4f} teacherTemp {teacherTemp:.3f} usageEntropy {entropyHistory[-1]:.3f}")

# nearest neighbour check with the teacher
with torch.no_grad():
    z = F.normalize(teacher(images), dim=-1)
    sim = z @ z.T
    sim.fill_diagonal_(-2)
    knn = (labels[sim.argmax(1)] == labels).float().mean().item()
print(f"1-nn accuracy {knn:.3f}")

absSum = lambda net: sum(p.abs().sum().item() for p in net.parameters())
print("RESULT %.6g %.6g %.6g %.6g" % (absSum(student), absSum(teacher), criterion.center.abs().sum().item(), lossHistory[-1]))
