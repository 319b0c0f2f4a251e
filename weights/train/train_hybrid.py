"""Train the models between part I and LLaMA, weights/hybrid: equal steps on equal batches, so that only a switch differs.

    python3 -m train.train_hybrid                             about 15 minutes on one core, with OpenBLAS
    python3 -m train.train_hybrid --steps 20 --out /tmp/try   a short trial
The text and the vocabulary are those of weights/decoder. A first run, with one head, is the model of part I in this size:
it is trained for its loss and not kept. At the end a table of all runs is printed, and curves.csv holds how the loss fell.
"""
import argparse
import csv
import random
import time
from pathlib import Path

import torch

from train.hybrid import STAGES, Hybrid, save_hybrid, stage_config
from train.tokenizer import EOS, Tokenizer
from train.train_decoder import generate, loss_of, stories_as_rows, train, with_start_values

CONTEXT = 256
HEADS = dict(heads=6, kv_heads=2, head_dim=16)
ONE_HEAD = dict(heads=1, kv_heads=1, head_dim=96)


def new_hybrid(stage, shape, vocabulary, seed):
    """A gated layer has three matrices where the others have two: its hidden width is two thirds, so that it weighs the same."""
    hidden = 128 if "gated" in STAGES[stage] else 192
    torch.manual_seed(seed)
    return with_start_values(Hybrid(stage_config(stage, context=CONTEXT, channels=96, hidden=hidden, layers=2, vocabulary=vocabulary,
                                                 **shape)))


def batches(rng, tokenizer):
    while True:
        yield stories_as_rows(rng, tokenizer, 16, CONTEXT // 2)
        yield stories_as_rows(rng, tokenizer, 8, CONTEXT)


@torch.no_grad()
def held_out_loss(model, tokenizer):
    """In nats a token, on full contexts of stories that were not trained on, without the token after <eos>."""
    rows = stories_as_rows(random.Random(987654321), tokenizer, 128, CONTEXT)
    losses = torch.cat([loss_of(model, part) for part in rows.split(16)])
    return (losses.sum() / (rows[:, :-1] != EOS).sum()).item()


def save_curves(file, curves, every=20):
    """curves: run -> loss of each step. A row for each `every` steps: the mean over its full contexts, every second step."""
    with open(file, "w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["step"] + list(curves))
        for end in range(every, min(map(len, curves.values())) + 1, every):
            rows.writerow([end] + [f"{sum(losses[end - every + 1:end:2]) / (every // 2):.4f}" for losses in curves.values()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "hybrid")
    options = parser.parse_args()

    torch.set_num_threads(1)
    tokenizer = Tokenizer.load(Path(__file__).parents[1] / "decoder" / "vocabulary.json")
    table, curves = [], {}
    for name, stage, shape in [("one head", "09_multi_head", ONE_HEAD)] + [(stage, stage, HEADS) for stage in STAGES]:
        model, begin = new_hybrid(stage, shape, len(tokenizer.tokens), options.seed), time.time()
        print(name, flush=True)
        curves[name] = train(model, batches(random.Random(options.seed), tokenizer), options)
        seconds, c = time.time() - begin, model.eval().config
        if shape is HEADS:
            save_hybrid(options.out / name, model)
            tokenizer.save(options.out / name / "vocabulary.json")
        size, cache = sum(p.numel() for p in model.parameters()), 2 * c.layers * c.kv_heads * c.head_dim
        table.append(f"| {name} | {size:,} | {cache} | {held_out_loss(model, tokenizer):.4f} | {seconds:.0f} s |")
        print(generate(model, tokenizer, "Once upon a time", 0.0, seed=1, limit=CONTEXT), flush=True)
    print("| run | parameters | floats in the cache a token | loss | time |\n|---|---|---|---|---|")
    print("\n".join(table))
    save_curves(options.out / "curves.csv", curves)


if __name__ == "__main__":
    main()
