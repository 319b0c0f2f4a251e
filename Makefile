# A thin front door: each target is a line or two of cmake, ctest or ./rungs. A bare `make` says what there is.
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SOURCES = $(shell find lib kernels lessons tools tests bench -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh')
CLANG_FORMAT = $(shell command -v clang-format-14 || echo clang-format)

help:  ## Say what there is
	@echo "Rungs, a step-by-step transformer framework. Start with: make demo, then ./rungs list"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

demo:  ## Tell a story with the trained LLaMA, with and without the KV cache
	@tools/configure.sh release $(CONFIGURE)
	@echo "Building the rungs program ..."
	@tools/build.sh release rungs_command
	@tools/demo.sh

test: build  ## Run every test
	@ctest --preset release -j $(JOBS)

build: tools-of-tests  ## Build everything that is tested (installs what is missing first)
	@tools/configure.sh release $(CONFIGURE)
	@tools/build.sh release

tools-of-tests:
	@tools/setup.sh needed optional

grade:  ## Grade every lesson: your file in work/ where there is one, else the solution
	@./rungs grade

docs:  ## Build the site into build/release/docs/html
	@tools/setup.sh needed optional docs
	@tools/configure.sh release -U "RUNGS_HAS_*"
	@tools/build.sh release docs

sanitize: tools-of-tests  ## Run every test again under AddressSanitizer and UBSan
	@tools/configure.sh sanitize $(CONFIGURE)
	@tools/build.sh sanitize
	@ctest --preset sanitize -j $(JOBS)

# Readers, tensors, operations, grader, the engine of kernels in one order, and the lessons on the CPU with their known
# mistakes. Left out is what runs programs a second time, what a browser opens, kernels that the checker watches, which no
# sanitizer may, the executor of PTX, which looks at every access itself, and what only measures or repeats others with
# other numbers: the limits of more GPUs, the rounding of an H100, mistakes from their records, texts up to the last position.
sanitize-part: tools-of-tests  ## The same over what sanitizers can find faults in: what CI runs
	@tools/configure.sh sanitize $(CONFIGURE)
	@tools/build.sh sanitize sanitized
	@ctest --preset sanitize -j $(JOBS) -E '_NOT_BUILT|/expected$$|/experiments/|/checker$$|/gdb$$| order$$| in other words$$|^ops on|^kernel_bench|^kernel_tests_(gpu|ptx)|^kernels spill|^gemv loads|^a processor below|^includes run one way|^lesson 08b: the loss|^recorded mistakes are named|^the verdicts that lessons|^the story LLaMA is as good|^on the device the trained LLaMA|^PTX: |^ptx_tests|^kernels as on a (rtx|h200|b200)|^tensor cores round as|roof can be measured' -LE '^(browser|gradescope|checked|stretch)$$'

fuzz:  ## Give every reader of files made-up inputs, 20 s each (SECONDS=N), under the sanitizers; needs clang
	@tools/fuzz.sh $(SECONDS)

bench:  ## Measure: the cache, decoding, prefill, tokenizers, kernels on the CPU
	@tools/configure.sh release
	@tools/build.sh release rungs_command benches kernel_bench
	@./rungs bench cache
	@build/release/bin/profile_decode
	@build/release/bin/prefill
	@build/release/bin/tokenize
	@build/release/bin/kernel_bench

gpu:  ## On a machine with a GPU: build, test and measure there, in under 8 minutes
	@bench/gpu.sh

measure-build:  ## Time a clean build, and the way from saving a learner's file to its verdict
	@tools/measure_build.sh $(JOBS)

format:  ## Lay out the sources with clang-format 14
	@$(CLANG_FORMAT) -i $(SOURCES)

check-format:  ## Say where the layout differs from clang-format 14
	@$(CLANG_FORMAT) --dry-run -Werror $(SOURCES)

# clang-tidy wants every file's own compile command, without the precompiled headers of g++.
lint:  ## Run the few checks of .clang-tidy over the library
	@tools/setup.sh needed
	@cmake -S . -B build/lint -G Ninja -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DRUNGS_TOGETHER=ON -DRUNGS_CUDA=OFF >/dev/null
	@sed -i 's/ -fno-reorder-blocks-and-partition//' build/lint/compile_commands.json  # which clang does not know
	@ls build/lint/lib/CMakeFiles/*.dir/Unity/*.cxx | xargs -n 1 -P $(JOBS) \
	  clang-tidy-14 -p build/lint --quiet --checks=-bugprone-suspicious-include 2>/dev/null

clean:  ## Remove everything that was built; work/ stays
	@rm -rf build

.PHONY: help demo test build tools-of-tests grade docs sanitize sanitize-part fuzz bench gpu measure-build format check-format lint clean
