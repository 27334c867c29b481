import torch

from data import rings
from options import Options
from solver import Solver

if __name__ == "__main__":
    opt = Options()
    torch.manual_seed(opt.seed)
    solver = Solver(opt)
    for epoch in range(opt.epochs):
        for x in rings(opt.batches, opt.batch_size):
            solver.optimize(x)
    print("RESULT", *(f"{v:.6g}" for v in solver.losses.values()))
