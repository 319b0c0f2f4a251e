"""Train weights/decoder on the stories of story_grammar.py.

    python3 -m train.train_decoder                            12 to 20 minutes on 2 cores, with OpenBLAS (Debian: libopenblas0-pthread)
    python3 -m train.train_decoder --steps 50 --out /tmp/try  a short trial
Writes config.json, model.safetensors and vocabulary.json, and prints the loss on stories that were not trained on.
"""
import argparse
import math
import random
import re
import time
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from train.story_grammar import make_story
from train.tokenizer import BOS, EOS, Tokenizer
from train.torch_decoder import Config, Decoder, save_model

CONTEXT = 1152
RANGES = [(0, 16), (16, 64), (64, 128), (128, 256), (256, 512), (512, 768), (768, 1024), (1024, 1152)]


def words_of(stories):
    """The words that are common enough to be a token: invented names are not."""
    counts = {}
    for story in stories:
        for word in re.findall(r"(?<= )[A-Za-z]+", " " + story):
            counts[word] = counts.get(word, 0) + 1
    return [word for word, count in counts.items() if count * 200 >= len(stories)]


def stories_as_rows(rng, tokenizer, rows, length):
    """(rows, length + 1) token ids. A row begins with a story's <bos>, as generation does, and is packed to its end."""
    batch = []
    for _ in range(rows):
        row = []
        while len(row) <= length:
            row += [BOS] + tokenizer.encode(make_story(rng)) + [EOS]
        batch.append(row[:length + 1])
    return torch.tensor(batch)


def loss_of(model, rows):
    """(B, T): the loss of each prediction. After <eos> a new story begins, which nobody has to guess: it counts as 0."""
    logits = model(rows[:, :-1])  # (B, T, V)
    return cross_entropy(logits.transpose(1, 2), rows[:, 1:], reduction="none") * (rows[:, :-1] != EOS)


def new_model(vocabulary, seed):
    torch.manual_seed(seed)
    return with_start_values(Decoder(Config(context=CONTEXT, channels=96, head_dim=64, hidden=320, layers=2, vocabulary=vocabulary,
                                            epsilon=1e-5)))


def with_start_values(model):
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() == 2:
                value.normal_(std=0.1 if "embedding" in name else 1 / math.sqrt(value.shape[1]))
        if hasattr(model, "position_embedding"):
            # Positions start as waves, which makes neighbours alike: learning 1152 unrelated rows would take far longer.
            position, half = torch.arange(model.config.context)[:, None], model.config.channels // 2
            rate = torch.exp(torch.arange(half) / half * -math.log(2000))  # radians a position, 1 to 1/2000
            waves = torch.cat([torch.sin(position * rate), torch.cos(position * rate)], dim=1)
            model.position_embedding.weight.copy_(0.1 * waves)
        for layer in model.layers:
            layer.attention.o.weight.mul_(0.5)
            layer.feed_forward.down.weight.mul_(0.5)
    return model


def batches(rng, tokenizer):
    """Endless. Two kinds in turn: single stories at the first positions, where generation begins, and full contexts."""
    while True:
        yield stories_as_rows(rng, tokenizer, 16, 144)
        yield stories_as_rows(rng, tokenizer, 2, CONTEXT)


def train(model, source, options):
    """source: endless batches, those of first positions and those of the whole context in turn. Returns the loss of each step."""
    decay = [p for p in model.parameters() if p.dim() == 2]
    plain = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
                                  lr=options.rate, betas=(0.9, 0.98))
    warmup = 100
    schedule = lambda step: min((step + 1) / warmup, 0.02 + 0.49 * (1 + math.cos(math.pi * min(1, step / options.steps))))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)

    begin, losses = time.time(), []
    for step in range(options.steps):
        loss = loss_of(model, next(source)).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if (step + 1) % 100 == 0:
            short, long = (sum(losses[kind - 100::2]) / 50 for kind in (0, 1))
            print(f"step {step + 1:5d}  loss {short:.4f} at first positions, {long:.4f} over the context  {time.time() - begin:4.0f} s",
                  flush=True)
    print(f"trained {options.steps} steps in {(time.time() - begin) / 60:.1f} minutes")
    return losses


@torch.no_grad()
def report(model, tokenizer):
    """Print the mean loss on held-out stories for each range of positions, and two samples."""
    rows = stories_as_rows(random.Random(987654321), tokenizer, 48, CONTEXT)
    losses = torch.cat([loss_of(model, rows[i:i + 4]) for i in range(0, len(rows), 4)])
    counted = (rows[:, :-1] != EOS).float()
    print("| positions | loss |\n|---|---|")
    for first, last in RANGES + [(0, CONTEXT)]:
        print(f"| {first} to {last - 1} | {(losses[:, first:last].sum() / counted[:, first:last].sum()).item():.4f} |")
    for temperature in (0.0, 0.8):
        print(f"temperature {temperature}: {generate(model, tokenizer, 'Once upon a time', temperature, seed=1)}")


@torch.no_grad()
def generate(model, tokenizer, prompt, temperature, seed, limit=200):
    generator = torch.Generator().manual_seed(seed)
    ids = [BOS] + tokenizer.encode(prompt)
    while len(ids) < limit and ids[-1] != EOS:
        logits = model(torch.tensor(ids))[-1]
        if temperature == 0:
            ids.append(int(logits.argmax()))
        else:
            ids.append(int(torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=generator)))
    return tokenizer.decode(ids)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "decoder")
    options = parser.parse_args()

    torch.set_num_threads(2)
    rng = random.Random(12345)
    tokenizer = Tokenizer.from_words(words_of([make_story(rng) for _ in range(20000)]))
    model = new_model(len(tokenizer.tokens), options.seed)
    print(f"{len(tokenizer.tokens)} tokens, {sum(p.numel() for p in model.parameters())} parameters", flush=True)

    train(model, batches(random.Random(options.seed), tokenizer), options)
    save_model(options.out, model)
    tokenizer.save(options.out / "vocabulary.json")
    report(model.eval(), tokenizer)


if __name__ == "__main__":
    main()
