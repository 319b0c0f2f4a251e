"""Has the `gguf` package read the GGUF files that `rungs convert` writes, and compares every tensor and key.

    python3 check_gguf.py [MODEL]         a Hugging Face directory; stories/ unless given

What the file must hold is computed here from the directory's safetensors, by the package's own quantization.
needs: NumPy, torch, safetensors, gguf 0.19 or newer, and the program: make demo
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, quants
from safetensors.torch import load_file

from make_checkpoints import gguf_name, interleaved

ROOT = Path(__file__).parent.parent


def check(model, dtype, folder):
    config = json.loads((model / "config.json").read_text())
    to = folder / f"{dtype}.gguf"
    subprocess.run([ROOT / "build/release/bin/rungs", "convert", model, to, "--dtype", dtype], check=True, stdout=subprocess.DEVNULL)
    reader = GGUFReader(to)
    tensors = {t.name: t for t in reader.tensors}
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    stored = {name: value for file in sorted(model.glob("*.safetensors")) for name, value in load_file(file).items()}
    kind = GGMLQuantizationType[dtype.upper()]
    quantized = 0
    for name, weight in stored.items():
        moved = next((interleaved(weight, n) for part, n in heads.items() if part in name), weight).float().numpy()
        tensor = tensors.pop(gguf_name(name))
        assert list(tensor.shape) == list(reversed(moved.shape)), name
        got = quants.dequantize(tensor.data, tensor.tensor_type).reshape(moved.shape)
        if tensor.tensor_type == kind and weight.dim() == 2:
            moved = quants.dequantize(quants.quantize(moved, kind), kind)
            quantized += 1
        assert np.array_equal(got, moved), name
    assert set(tensors) <= {"rope_freqs.weight"}, tensors
    keys = {name: field.contents() for name, field in reader.fields.items()}
    assert keys["general.architecture"] == "llama"
    assert keys["llama.block_count"] == config["num_hidden_layers"]
    assert keys["llama.attention.head_count_kv"] == config["num_key_value_heads"]
    assert np.float32(keys["llama.attention.layer_norm_rms_epsilon"]) == np.float32(config["rms_norm_eps"])
    assert len(keys["tokenizer.ggml.tokens"]) == config["vocab_size"]
    print(f"{dtype}: {len(stored)} tensors, {quantized} of them {kind.name}, and {len(keys)} keys: equal")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path, default=ROOT / "weights/stories")
    model = parser.parse_args().model
    with tempfile.TemporaryDirectory() as folder:
        for dtype in ("f32", "bf16", "q8_0", "q4_0"):
            check(model, dtype, Path(folder))


if __name__ == "__main__":
    main()
