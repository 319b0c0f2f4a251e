"""PyTorch as the yardstick of prefill: a LLaMA of a named shape with random bf16 weights reads 2048 tokens.

python3 bench/torch_prefill.py 8b 1b    prints SHAPE=MILLISECONDS for each, the median of 9 runs
"""

import statistics
import sys

import torch
import torch.nn.functional as F

# C, H, G, F, L, V as in lib/rungs/model/random_llama.cpp
SHAPES = {"8b": (4096, 32, 8, 14336, 32, 128256), "1b": (2048, 32, 8, 8192, 16, 128256)}
T = 2048


class Llama:
    def __init__(self, width, heads, kv_heads, inner, layers, vocabulary):
        def weight(rows, columns):
            return torch.empty(rows, columns, device="cuda", dtype=torch.bfloat16).uniform_(-1, 1) * (3 / columns) ** 0.5

        self.heads, self.kv_heads, self.head = heads, kv_heads, width // heads
        kv = kv_heads * self.head
        self.embedding, self.output = weight(vocabulary, width), weight(vocabulary, width)
        self.norm = torch.ones(width, device="cuda", dtype=torch.bfloat16)
        self.layers = [
            (weight(width + 2 * kv, width), weight(width, width), weight(2 * inner, width), weight(width, inner))
            for _ in range(layers)
        ]
        angle = torch.arange(T, device="cuda")[:, None] / 500000 ** (torch.arange(self.head // 2, device="cuda") * 2 / self.head)
        self.cos, self.sin = angle.cos().bfloat16(), angle.sin().bfloat16()  # (T, D/2)

    def rotate(self, x):  # (H, T, D)
        low, high = x.chunk(2, -1)
        return torch.cat([low * self.cos - high * self.sin, high * self.cos + low * self.sin], -1)

    def split(self, x, count):  # (T, count * D) -> (count, T, D)
        return x.view(T, count, self.head).transpose(0, 1)

    def forward(self, tokens):  # (T)
        x = self.embedding[tokens]  # (T, C)
        sizes = [self.heads * self.head, self.kv_heads * self.head, self.kv_heads * self.head]
        for qkv, o, gate_up, down in self.layers:
            q, k, v = F.linear(F.rms_norm(x, self.norm.shape, self.norm), qkv).split(sizes, -1)
            q, k = self.rotate(self.split(q, self.heads)), self.rotate(self.split(k, self.kv_heads))
            v = self.split(v, self.kv_heads)
            repeat = self.heads // self.kv_heads
            k, v = k.repeat_interleave(repeat, 0), v.repeat_interleave(repeat, 0)
            y = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
            x = x + F.linear(y.transpose(0, 1).reshape(T, -1), o)
            gate, up = F.linear(F.rms_norm(x, self.norm.shape, self.norm), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, down)
        return F.linear(F.rms_norm(x[-1:], self.norm.shape, self.norm), self.output)


@torch.inference_mode()
def milliseconds(shape):
    model = Llama(*SHAPES[shape])
    tokens = torch.randint(0, SHAPES[shape][-1], (T,), device="cuda")
    times = []
    for run in range(12):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        logits = model.forward(tokens)
        end.record()
        torch.cuda.synchronize()
        assert torch.isfinite(logits).all()
        if run >= 3:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


for name in sys.argv[1:] or SHAPES:
    print(f"{name}={milliseconds(name):.4f}", flush=True)
    torch.cuda.empty_cache()
