"""Training code over networks that are given: nothing in it is a fault."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torchvision import models
from transformers import AutoModel, get_scheduler

def train_a(model, criterion, optimizer, loader):
    for x, y in loader:
        out, aux = model(x)
        l1 = criterion(out, y); l2 = criterion(aux, y)
        optimizer.zero_grad()
        l1.backward(retain_graph=True)
        l2.backward()
        optimizer.step()


class GAN:
    def __init__(self, G, D):
        self.G, self.D = G, D
        self.og = torch.optim.Adam(G.parameters()); self.od = torch.optim.Adam(D.parameters())
    def train(self, loader):
        for real in loader:
            fake = self.G(torch.randn(8, 3))
            d = F.softplus(-self.D(real)).mean() + F.softplus(self.D(fake.detach())).mean()
            self.od.zero_grad(); d.backward(); self.od.step()
            g = F.softplus(-self.D(fake)).mean()
            self.og.zero_grad(); g.backward(); self.og.step()


def learn_c(q, buffer, steps):
    target = copy.deepcopy(q)
    opt = torch.optim.Adam(q.parameters())
    for i in range(steps):
        s, a, r, s2 = buffer.sample()
        with torch.no_grad():
            y = r + 0.9 * target(s2).max(1)[0]
        loss = F.mse_loss(q(s).gather(1, a), y)
        opt.zero_grad(); loss.backward(); opt.step()
        if i % 10 == 0:
            target.load_state_dict(q.state_dict())


def main_d(train_loader, eval_loader, steps):
    model = AutoModel.from_pretrained("x"); model.to("cuda")
    no_decay = ["bias"]
    groups = [{"params": [p for n, p in model.named_parameters() if not any(d in n for d in no_decay)]},
              {"params": [p for n, p in model.named_parameters() if any(d in n for d in no_decay)], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-4)
    sched = get_scheduler("linear", optimizer)
    best = 0; total = 0
    for epoch in range(3):
        model.train()
        for step, batch in enumerate(train_loader):
            outputs = model(**batch)
            loss = outputs.loss / 4
            loss.backward()
            total += loss.item()
            if step % 4 == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step(); sched.step(); optimizer.zero_grad()
        model.eval()
        preds = []
        for batch in eval_loader:
            with torch.no_grad():
                out = model(**batch)
            preds.append(out.logits)


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)
def train_e(model, opt, data):
    hidden = model.init_hidden(3)
    for x, y in data:
        hidden = repackage(hidden)
        model.zero_grad()
        out, hidden = model(x, hidden)
        loss = F.cross_entropy(out, y)
        loss.backward()
        opt.step()
def train2(model, opt, data):
    hidden = model.init_hidden(3)
    for x, y in data:
        hidden = tuple([h.data for h in hidden])
        opt.zero_grad()
        out, hidden = model(x, hidden)
        F.cross_entropy(out, y).backward()
        opt.step()
def train3(model, opt, data, env):
    state = env.reset()
    for t in range(100):
        dist = model(state)
        a = dist.sample()
        state, r = env.step(a)
        loss = -dist.log_prob(a) * r
        opt.zero_grad(); loss.mean().backward(); opt.step()


def same(model, opt, data):
    for x, y in data:
        with torch.no_grad():
            t = model(x)
        loss = F.mse_loss(model(y), t)
        opt.zero_grad(); loss.backward(); opt.step()
def keep(model, opt, data):
    with torch.no_grad():
        prev = model(data[0])
    for x in data:
        out = model(x)
        loss = F.mse_loss(out, prev)
        opt.zero_grad(); loss.backward(); opt.step()
        with torch.no_grad():
            prev = model(x)
def pgd(model, x, y, steps):
    adv = x.clone().detach().requires_grad_(True)
    for _ in range(steps):
        loss = F.cross_entropy(model(adv), y)
        loss.backward()
        adv = (adv + 0.1 * adv.grad.sign()).detach().requires_grad_(True)
    return adv
def closure(fn, x, opt):
    def run():
        opt.zero_grad()
        l = fn(x)
        l.backward()
        return l
    for _ in range(10):
        opt.step(run)


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = models.resnet50(pretrained=True)
        for p in self.body.parameters():
            p.requires_grad = False
        self.body.fc = nn.Linear(2048, n)
    def forward(self, x):
        return self.body(x)
def main_g(loader):
    net = Net(10)
    opt = torch.optim.SGD(net.body.fc.parameters(), lr=0.1)
    crit = nn.CrossEntropyLoss()
    for x, y in loader:
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
def other(loader):
    vgg = models.vgg16(pretrained=True).features
    for p in vgg.parameters():
        p.requires_grad_(False)
    img = torch.randn(1, 3, 8, 8, requires_grad=True)
    want = vgg(torch.ones(1, 3, 8, 8))
    opt = torch.optim.LBFGS([img])
    for _ in range(30):
        def closure():
            opt.zero_grad()
            l = (vgg(img) - want).pow(2).mean()
            l.backward()
            return l
        opt.step(closure)


