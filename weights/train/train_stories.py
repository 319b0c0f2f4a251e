"""Train weights/stories: a LLaMA of 2 million parameters on small stories and on lines "a => b".

    python3 -m train.train_stories                             55 minutes on one core, with OpenBLAS (Debian: libopenblas0-pthread)
    python3 -m train.train_stories --minutes 2 --out /tmp/try  a short trial
    python3 -m train.train_stories --draft --minutes 12        weights/stories_draft: a twentieth of it, which guesses its tokens
needs: torch, safetensors, tokenizers. Goes on where it was stopped: OUT/training.pt holds the state. Every few minutes and at
the end it writes the model, rounded to bf16, if its loss on held-out text is the lowest so far.
"""
import argparse
import math
import os
import random
import shutil
import time
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from train.hybrid import Hybrid
from train.more_stories import make_story
from train.stories_model import BOS, DRAFT_SHAPE, EOS, SHAPE, export, load_tokenizer, rounded, tied, train_tokenizer
from train.story_tasks import make_lines

LINES = 0.6  # of the texts; they are short, about one token in seven
BATCHES = [(16, 128), (8, 256), (16, 128), (4, 512)]  # rows and length, in turn: 2048 tokens each
WARMUP = 0.01  # of the time


def make_text(rng):
    return make_lines(rng) if rng.random() < LINES else make_story(rng)


def make_rows(rng, tokenizer, rows, length, make=make_text):
    """(rows, length + 1) ids. A row begins with a <bos>, as generation does, and is packed with texts to its end."""
    batch = []
    for _ in range(rows):
        row = []
        while len(row) <= length:
            row += tokenizer.encode(make(rng)).ids + [EOS]
        batch.append(row[:length + 1])
    return torch.tensor(batch)


def loss_of(model, rows):
    """The mean over all predictions but the one after <eos>, where a new text begins."""
    targets = rows[:, 1:].masked_fill(rows[:, 1:] == BOS, -100)
    return cross_entropy(model(rows[:, :-1]).flatten(0, 1), targets.flatten())


@torch.no_grad()
def held_out_loss(model, tokenizer, make, rows=16):
    """On full contexts of texts from seeds that training does not draw from."""
    data = make_rows(random.Random(987654321), tokenizer, rows, SHAPE.context, make)
    return sum(loss_of(model, part).item() for part in data.split(4)) / (rows // 4)


def new_model(seed, shape):
    torch.manual_seed(seed)
    model = Hybrid(shape)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() == 2:
                value.normal_(std=0.05 if "embedding" in name else 1 / math.sqrt(value.shape[1]))
        for layer in model.layers:
            layer.attention.o.weight.mul_(0.3)
            layer.feed_forward.down.weight.mul_(0.3)
    return tied(model)


class Training:
    def __init__(self, options, tokenizer):
        self.options, self.tokenizer = options, tokenizer
        self.model = new_model(options.seed, DRAFT_SHAPE if options.draft else SHAPE)
        parameters = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW([{"params": [p for p in parameters if p.dim() == 2], "weight_decay": 0.05},
                                            {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0}],
                                           lr=options.rate, betas=(0.9, 0.97))
        self.step, self.seconds, self.best = 0, 0.0, math.inf
        self.state = options.out / "training.pt"
        if self.state.exists():
            saved = torch.load(self.state)
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.step, self.seconds, self.best = saved["step"], saved["seconds"], saved["best"]

    def rate(self):
        """Up in a line, then down along a cosine to a fiftieth: by time, not by steps, so that the end comes when it shall."""
        progress = self.seconds / (60 * self.options.minutes)
        warm = min(1.0, (self.step + 1) / 50, 0.02 + progress / WARMUP)
        return self.options.rate * warm * (0.02 + 0.49 * (1 + math.cos(math.pi * min(1.0, progress))))

    def train_step(self):
        rng = random.Random(f"{self.options.seed} {self.step}")  # the texts of a step are the same after a stop
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        loss = loss_of(self.model, make_rows(rng, self.tokenizer, *BATCHES[self.step % len(BATCHES)]))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        return loss.item()

    def save(self):
        model = rounded(self.model)
        stories, lines = (held_out_loss(model, self.tokenizer, make) for make in (make_story, make_lines))
        better = stories + lines < self.best
        if better:
            self.best = stories + lines
            export(self.options.out, model)
        print(f"held out, in bf16: stories {stories:.4f}, lines {lines:.4f}{', written' if better else ''}", flush=True)
        part = self.state.with_suffix(".part")
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step,
                    "seconds": self.seconds, "best": self.best}, part)
        os.replace(part, self.state)

    def run(self):
        losses, saved = [], self.seconds
        while self.seconds < 60 * self.options.minutes:
            begin = time.time()
            losses.append(self.train_step())
            self.seconds += time.time() - begin
            if len(losses) == 100:
                print(f"step {self.step:5d}  loss {sum(losses) / 100:.4f}  rate {self.rate():.5f}  {self.seconds:5.0f} s", flush=True)
                losses = []
            if self.seconds - saved > 60 * self.options.save_every:
                self.save()
                saved = self.seconds
        self.save()
        print(f"{self.step} steps, {self.step * 2048 / 1e6:.1f} million tokens in {self.seconds / 60:.1f} minutes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=55)
    parser.add_argument("--save-every", type=float, default=5, help="minutes")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--draft", action="store_true", help="the small model, with the tokenizer of weights/stories")
    parser.add_argument("--out", type=Path, help="default: weights/stories, or weights/stories_draft")
    options = parser.parse_args()
    stories = Path(__file__).parents[1] / "stories"
    options.out = options.out or (stories.with_name("stories_draft") if options.draft else stories)

    torch.set_num_threads(options.threads)
    if options.draft:
        options.out.mkdir(parents=True, exist_ok=True)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copyfile(stories / name, options.out / name)
    elif not (options.out / "tokenizer.json").exists():
        rng = random.Random(12345)
        train_tokenizer(options.out, [make_text(rng) for _ in range(20000)])
    training = Training(options, load_tokenizer(options.out))
    print(f"{sum(p.numel() for p in training.model.parameters())} parameters", flush=True)
    training.run()


if __name__ == "__main__":
    main()
