"""Judge weights/stories with transformers' LlamaForCausalLM, and show what it writes.

    python3 -m train.judge_stories
needs: torch, safetensors, tokenizers, transformers 4.46.
"""
import argparse
import random
import re
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from references.llama import arithmetic
from train.more_stories import BOYS, GIRLS, MORE, make_story
from train.stories_model import load_stories, load_tokenizer
from train.story_tasks import TASKS, lines_of, make_lines, prompt_text
from train.train_stories import held_out_loss

GROUPS = ("everywhere", "few-shot only", "zero-shot only", "nowhere")
STORIES = 40
PROMPTS = ["Once upon a time", "One day, a brave fox named Rosa", "Tom had a red kite, but"]


@torch.no_grad()
def complete(model, tokenizer, prompt, limit, temperature=0.0, seed=1):
    """The text that the model puts after the prompt; <eos> stays in it."""
    generator = torch.Generator().manual_seed(seed)
    ids = tokenizer(prompt).input_ids
    first, past, rows = len(ids), None, torch.tensor([ids])
    while len(ids) - first < limit and ids[-1] != tokenizer.eos_token_id:
        output = model(rows, past_key_values=past, use_cache=True)
        past, logits = output.past_key_values, output.logits[0, -1]
        ids.append(pick(logits, temperature, generator))
        rows = torch.tensor([ids[-1:]])
    return tokenizer.decode(ids[first:])


def pick(logits, temperature, generator, top_p=0.9):
    if temperature == 0:
        return int(logits.argmax())
    p, order = torch.softmax(logits / temperature, -1).sort(descending=True)
    p[p.cumsum(0) - p >= top_p] = 0
    return int(order[torch.multinomial(p, 1, generator=generator)])


def first_line(text):
    return text.replace("<eos>", "\n").split("\n")[0].strip()


def answers(model, tokenizer, task, lines, rng, examples, header):
    """How many questions are answered right, greedy. Examples come from the pairs that may stand in few-shot texts."""
    pool = lines_of(task, "everywhere", "few-shot only")
    right, wrong = 0, []
    for question, answer in lines:
        shown = rng.sample([line for line in pool if question not in line], examples)
        got = first_line(complete(model, tokenizer, prompt_text(task, question, shown, header), 16))
        right += got == answer
        wrong += [f"{question} => {got}"] if got != answer else []
    return right, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path(__file__).parents[1] / "stories")
    options = parser.parse_args()
    torch.set_num_threads(1)

    ours, ids = load_stories(options.model, torch.float64), torch.randint(2, 1024, (2, 512))
    with torch.no_grad(), arithmetic(torch.float64):
        model = LlamaForCausalLM.from_pretrained(options.model, torch_dtype=torch.float64).eval()
        print(f"largest difference of the logits, transformers against hybrid.py, float64: {(model(ids).logits - ours(ids)).abs().max():.2e}")
    raw = load_tokenizer(options.model)
    for what, make in (("stories", make_story), ("lines", make_lines)):
        print(f"held-out loss of {what}: {held_out_loss(ours.float(), raw, make, 32):.4f}")

    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = LlamaForCausalLM.from_pretrained(options.model, torch_dtype=torch.float32).eval()
    for task, (_, pairs) in TASKS.items():
        turned = [(b, a) for i, (a, b) in enumerate(pairs) if i % 2] if task == "synonyms" else []
        for group in GROUPS + (("turned, nowhere",) if turned else ()):
            lines = turned if group.startswith("turned") else [line for line in lines_of(task, group) if line in pairs]
            scores = []
            for examples in (0, 3):
                right, wrong = answers(model, tokenizer, task, lines, random.Random(5), examples, not examples)
                scores.append(f"{right} of {len(lines)}")
                print(f"  {task}, {group}, {examples} examples, wrong: {'; '.join(wrong[:6])}")
            print(f"| {task} | {group} | {scores[0]} | {scores[1]} |", flush=True)

    names, ended, consistent = {*GIRLS, *BOYS, *MORE[0][1], *MORE[1][1]}, 0, 0
    for seed in range(STORIES):
        text = complete(model, tokenizer, PROMPTS[0], 250, 0.6, seed)
        ended += text.endswith("<eos>")
        consistent += len(names & set(re.findall("[A-Z][a-z]+", text))) <= 2
    print(f"of {STORIES} stories at 0.6, {ended} end and {consistent} have at most two names", flush=True)

    both = {question for question, _ in TASKS["french"][1]} & {question for question, _ in lines_of("synonyms", *GROUPS)}
    for task in ("synonyms", "french"):
        lines = [line for line in lines_of(task, *GROUPS[:3]) if line[0] in both]
        scores = [f"{answers(model, tokenizer, task, lines, random.Random(5), n, False)[0]} of {len(lines)}" for n in (0, 1, 3, 5)]
        print(f"| words of both tasks: {task} | {' | '.join(scores)} |", flush=True)

    for prompt in PROMPTS + ["happy =>", "cheese =>", "moon landing =>", prompt_text("french", "happy", TASKS["french"][1][:3]),
                             prompt_text("synonyms", "happy", TASKS["synonyms"][1][10:13])]:
        for temperature in (0.0, 0.6):
            print(f"--- {temperature}\n{prompt}[{complete(model, tokenizer, prompt, 250, temperature)}]", flush=True)


if __name__ == "__main__":
    main()
