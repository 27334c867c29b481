import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

import knowledge
from model import DenseIndex, Reader, Retriever, marginal_nll

SCALE, TOP_K, REBUILD_EVERY = 6.0, 6, 4


def main():
    set_seed(8)
    accelerator = Accelerator(cpu=True)
    gen = torch.Generator().manual_seed(80)
    docs, attribute = knowledge.documents(gen)
    train = TensorDataset(*knowledge.questions(attribute, 160, gen))

    retriever, reader = Retriever(), Reader()
    opt_retriever = torch.optim.Adam(retriever.parameters(), lr=2e-2)
    opt_reader = torch.optim.Adam(reader.parameters(), lr=1e-2)
    loader = DataLoader(train, batch_size=40, shuffle=True)
    retriever, reader, opt_retriever, opt_reader, loader = accelerator.prepare(
        retriever, reader, opt_retriever, opt_reader, loader)

    index = DenseIndex(docs)
    step, curve, hits = 0, [], []
    for epoch in range(5):
        for question, answer, entity in loader:
            if step % REBUILD_EVERY == 0:
                index.rebuild(retriever)
            q = retriever(question, "query")
            found = index.search(q, TOP_K)
            keys = retriever(docs[found].flatten(0, 1), "key").view(*found.shape, -1)
            scores = SCALE * (q.unsqueeze(1) * keys).sum(-1)
            loss = marginal_nll(scores, reader(question, docs[found]), answer)

            opt_retriever.zero_grad()
            opt_reader.zero_grad()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(retriever.parameters(), 1.0)
            opt_retriever.step()
            opt_reader.step()

            step += 1
            curve.append(loss.item())
            hits.append((found == entity[:, None]).any(1).float().mean().item())
        accelerator.print(f"epoch {epoch}: nll {sum(curve[-4:]) / 4:.4f}, recall@{TOP_K} {sum(hits[-4:]) / 4:.3f}")

    index.rebuild(retriever)
    a, b = (sum(p.abs().sum().item() for p in accelerator.unwrap_model(m).parameters()) for m in (retriever, reader))
    print(f"RESULT {a:.6g} {b:.6g} {index.keys.abs().sum().item():.6g} {curve[-1]:.6g}")


if __name__ == "__main__":
    main()
