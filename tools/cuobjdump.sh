#!/bin/sh
# tools/cuobjdump.sh [--install]: prints where cuobjdump is, which shows the machine code that nvcc made. The whole CUDA
# Toolkit has it; a compiler alone may come without. --install puts it and nvdisasm, which it calls, into build/cuobjdump,
# from NVIDIA's packages for pip. Status 1 where there is none.
root=$(cd "$(dirname "$0")/.." && pwd)
find_it() {
  command -v cuobjdump || ls /usr/local/cuda/bin/cuobjdump "$root"/build/cuobjdump/nvidia/*/bin/cuobjdump 2>/dev/null | grep .
}
if ! find_it >/dev/null && [ "${1-}" = --install ]; then
  python3 -m pip install --quiet --no-deps --disable-pip-version-check --root-user-action=ignore \
    --target "$root/build/cuobjdump" "nvidia-cuda-cuobjdump<14" "nvidia-cuda-nvdisasm<14" >&2
fi
find_it | head -n 1 | grep .
