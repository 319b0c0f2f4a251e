#!/usr/bin/env bash
# tests/fuzz/seeds.sh READER FOLDER: fills FOLDER with inputs for a fuzzer to begin with: small files of this repository,
# and those that were kept because they once were too much for a reader.
set -euo pipefail
cd "$(dirname "$0")/../.."
reader=$1 folder=$2
mkdir -p "$folder"

# take NAME...: files of the repository that are small
take() {
  local file
  for file in "$@"; do
    [ -f "$file" ] && [ "$(stat -c %s "$file")" -le 40000 ] || continue
    cp "$file" "$folder/$(echo "$file" | tr / _)"
  done
}

references=weights/references
case $reader in
  npy) take $references/0[1-5]*/*/out/*.npy ;;
  safetensors) take $references/models/*/*.safetensors ;;
  shards)
    for model in $references/checkpoints/sharded_*; do
      { cat "$model/model.safetensors.index.json"; printf '\xff'; cat "$(ls "$model"/*.safetensors | head -n 1)"; } >"$folder/$(basename "$model")"
    done ;;
  llama2c) take $references/checkpoints/bin_*/*.bin ;;
  gguf) take $references/checkpoints/gguf_*/*.gguf ;;
  config) take weights/*/config.json $references/models/*/config.json weights/*/generation_config.json $references/models/*/generation_config.json ;;
  tokenizer_json) take $references/models/*/tokenizer.json $references/*/*/tokenizer.json weights/decoder/vocabulary.json ;;
  tokenizer_model) take $references/*/*/tokenizer.model $references/*/*.model ;;
  tokenizer_bin) take $references/*/*/tokenizer.bin $references/*/*.bin ;;
  text) take README.md docs/glossary.md ;;
  case) take $references/1[0-4]*/*/case.json ;;
  toml) take lessons/*/mistakes.toml lessons/*/experiments.toml tests/learner/naming/*.toml ;;
  protocol | serve) ;;
  *) echo "tests/fuzz/seeds.sh: no fuzzer is called $reader" >&2; exit 2 ;;
esac
[ ! -d "tests/fuzz/kept/$reader" ] || cp "tests/fuzz/kept/$reader"/* "$folder"
[ -n "$(ls -A "$folder")" ] || printf 'GNUR' >"$folder/empty"
