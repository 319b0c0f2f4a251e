"""The models between the decoder of part I and LLaMA: one PyTorch model with five switches, one for each of lessons 09 to 13.

    model = load_hybrid("hybrid/13_swiglu", torch.float64)   a directory of weights/hybrid or references/models/hybrid_*
    logits = model(tokens)                                   tokens (T) or (B, T) -> (..., T, V): the whole sequence, no cache
    logits = model(tokens, tap=tap)                          tap(name, tensor, *dims) gets what is computed on the way, for (T) alone
    logits = model(tokens, caches=caches, start_pos=4)       caches = model.new_caches(): one Cache a layer, k and v (context, G, D)

Taps in order: x; for each layer I, as layers.I.NAME: attention_normed, q, v (token, head, dim), k (the same, after rotation),
scores (head, query, key; before the mask), weights, attn_out (token, head, dim), attention, normed, gate (where there is one),
up, hidden, x; then normed, the output of the final norm (before it, where that is a LayerNorm, mean and variance).
Letters as in torch_decoder.py; H query heads, G key/value heads; query head h reads key/value head h / (H/G).
"""
import json
import math
from collections import namedtuple
from pathlib import Path

import torch
from torch import nn

from train import torch_decoder
from train.torch_decoder import Cache, Decoder, Layer, load_safetensors, no_tap

# theta None: learned positions. rms and gated: False is LayerNorm and ReLU. Biases leave with `gated`.
Config = namedtuple("Config", "context channels head_dim hidden layers vocabulary epsilon heads kv_heads theta rms gated",
                    defaults=(1, 1, None, False, False))

# The switches that are on from each lesson on.
STAGES = {
    "09_multi_head": (),
    "10_grouped_query": ("grouped",),
    "11_rope": ("grouped", "rope"),
    "12_rms_norm": ("grouped", "rope", "rms"),
    "13_swiglu": ("grouped", "rope", "rms", "gated"),
}


def stage_config(stage, heads, kv_heads, **sizes):
    on = STAGES[stage]
    return Config(epsilon=1e-5, heads=heads, kv_heads=kv_heads if "grouped" in on else heads,
                  theta=10000.0 if "rope" in on else None, rms="rms" in on, gated="gated" in on, **sizes)


class RmsNorm(nn.Module):
    def __init__(self, channels, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.epsilon = epsilon

    def forward(self, x):
        return x * self.weight / torch.sqrt(torch.mean(x.square(), -1) + self.epsilon)[..., None]


def new_norm(config):
    return (RmsNorm if config.rms else nn.LayerNorm)(config.channels, config.epsilon)


def apply_rope(x, theta, start_pos):
    """x: (..., T, H, D). Pair i of a head, dims i and i + D/2, turns by its position times theta^(-2i/D)."""
    T, D = x.shape[-3], x.shape[-1]
    frequency = theta ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)  # radians a position
    angle = torch.outer(start_pos + torch.arange(T, dtype=x.dtype), frequency)[:, None]  # (T, 1, D/2)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], dim=-1)


def sdpa(q, k, v, tap=no_tap):
    """q: (..., T, H, D); k, v: (..., S, G, D) -> (..., T, H, D). The queries are the last T of the S tokens."""
    (T, H, D), (S, G) = q.shape[-3:], k.shape[-3:-1]
    k, v = (t.repeat_interleave(H // G, dim=-2).transpose(-3, -2) for t in (k, v))  # (..., H, S, D)
    scores = torch.matmul(q.transpose(-3, -2), k.transpose(-2, -1)) / math.sqrt(D)  # (..., H, T, S)
    tap("scores", scores, "head", "query", "key")
    future = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
    weights = torch.softmax(scores.masked_fill(future, -math.inf), -1)
    tap("weights", weights, "head", "query", "key")
    return torch.matmul(weights, v).transpose(-3, -2)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        C, D, bias = config.channels, config.head_dim, not config.gated
        self.config = config
        self.q = nn.Linear(C, config.heads * D, bias)
        self.k = nn.Linear(C, config.kv_heads * D, bias)
        self.v = nn.Linear(C, config.kv_heads * D, bias)
        self.o = nn.Linear(config.heads * D, C, bias)

    def forward(self, x, mask=True, cache=None, start_pos=0, tap=no_tap):
        """x: (..., T, C) -> (..., T, C). With a cache, row t of x stands at position start_pos + t."""
        assert mask
        q, k, v = (linear(x).unflatten(-1, (-1, self.config.head_dim)) for linear in (self.q, self.k, self.v))
        if self.config.theta:
            q, k = (apply_rope(t, self.config.theta, start_pos) for t in (q, k))
        for name, tensor in zip("qkv", (q, k, v)):
            tap(name, tensor, "token", "head", "dim")
        if cache:
            end = start_pos + len(x)
            cache.k[start_pos:end] = k
            cache.v[start_pos:end] = v
            k, v = cache.k[:end], cache.v[:end]  # (S, G, D)
        attn_out = sdpa(q, k, v, tap)
        tap("attn_out", attn_out, "token", "head", "dim")
        return self.o(attn_out.flatten(-2))


class GatedFeedForward(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.gate = nn.Linear(channels, hidden, bias=False)
        self.up = nn.Linear(channels, hidden, bias=False)
        self.silu = nn.SiLU()
        self.down = nn.Linear(hidden, channels, bias=False)

    def forward(self, x, tap=no_tap):
        gate, up = self.gate(x), self.up(x)  # (..., T, F)
        tap("gate", gate, "token", "hidden")
        tap("up", up, "token", "hidden")
        hidden = self.silu(gate) * up
        tap("hidden", hidden, "token", "hidden")
        return self.down(hidden)


class HybridLayer(Layer):
    def __init__(self, config):
        nn.Module.__init__(self)
        self.attention_norm = new_norm(config)
        self.attention = Attention(config)
        self.ffn_norm = new_norm(config)
        self.feed_forward = (GatedFeedForward if config.gated else torch_decoder.FeedForward)(config.channels, config.hidden)


class Hybrid(Decoder):
    def __init__(self, config):
        nn.Module.__init__(self)
        self.config = config
        self.token_embedding = nn.Embedding(config.vocabulary, config.channels)
        if not config.theta:
            self.position_embedding = nn.Embedding(config.context, config.channels)
        self.layers = nn.ModuleList(HybridLayer(config) for _ in range(config.layers))
        self.final_norm = new_norm(config)
        self.output = nn.Linear(config.channels, config.vocabulary, bias=not config.gated)

    def embed(self, tokens, start_pos):
        return self.token_embedding(tokens) if self.config.theta else super().embed(tokens, start_pos)

    def new_caches(self):
        c, dtype = self.config, self.output.weight.dtype
        new = lambda: torch.zeros(c.context, c.kv_heads, c.head_dim, dtype=dtype)
        return [Cache(new(), new()) for _ in self.layers]


def save_hybrid(directory, model):
    """Write config.json and model.safetensors. A key that part I does not have stands only where its switch is on."""
    c = model.config
    more = {"num_attention_heads": c.heads}
    more |= {"num_key_value_heads": c.kv_heads} if c.kv_heads != c.heads else {}
    more |= {"rope_theta": c.theta} if c.theta else {}
    more |= {"norm": "rms"} if c.rms else {}
    more |= {"gated": True} if c.gated else {}
    torch_decoder.save_model(directory, model, more)


def load_hybrid(directory, dtype=torch.float32):
    directory = Path(directory)
    c = json.loads((directory / "config.json").read_text())
    heads = c.get("num_attention_heads", 1)
    model = Hybrid(Config(c["max_position_embeddings"], c["hidden_size"], c["head_dim"], c["intermediate_size"],
                          c["num_hidden_layers"], c["vocab_size"], c["layer_norm_eps"], heads,
                          c.get("num_key_value_heads", heads), c.get("rope_theta"), c.get("norm") == "rms", c.get("gated", False)))
    state = load_safetensors(directory / "model.safetensors")
    model.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in state.items()})
    return model.to(dtype).eval()
