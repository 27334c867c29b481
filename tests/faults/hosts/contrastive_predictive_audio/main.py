from config import CFG
from data import waves
from learner import Learner


def main():
    learner = Learner(CFG)
    for epoch in range(CFG["epochs"]):
        for clip in waves(CFG, epoch):
            learner.update(clip)
        print(epoch, learner.summary())
    print("RESULT", *("%.6f" % v for v in learner.final()))


if __name__ == "__main__":
    main()
