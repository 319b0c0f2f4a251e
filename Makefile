# A thin front door: each target is a line or two of cmake, ctest or ./rungs. A bare `make` says what there is.
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SOURCES = $(shell find lib kernels lessons tools tests bench -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh')
CLANG_FORMAT = $(shell command -v clang-format-14 || echo clang-format)

help:  ## Say what there is
	@echo "Rungs, a step-by-step transformer framework. Start with: make demo, then ./rungs list"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

demo: build  ## Tell a story with the trained LLaMA, with and without the KV cache
	@tools/demo.sh

test: build  ## Run every test
	@ctest --preset release -j $(JOBS)

build: build/release/build.ninja  ## Build everything (installs what is missing first)
	@cmake --build --preset release -j $(JOBS)

grade: build  ## Grade every lesson: your file in work/ where there is one, else the solution
	@./rungs grade

docs: build/release/build.ninja  ## Build the site into build/release/docs/html
	@tools/setup.sh docs
	@tools/quietly.sh build/configure.log cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target docs

sanitize: build/sanitize/build.ninja  ## Run every test again under AddressSanitizer and UBSan
	@cmake --build --preset sanitize -j $(JOBS)
	@ctest --preset sanitize -j $(JOBS)

bench: build  ## Measure: the cache, decoding, prefill, tokenizers, kernels on the CPU
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

# clang-tidy cannot read the precompiled headers of g++, so it gets compile commands without them.
lint: build/release/build.ninja  ## Run the few checks of .clang-tidy over the library
	@cmake -S . -B build/lint -G Ninja -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DRUNGS_CUDA=OFF >/dev/null
	@echo $(wildcard lib/*/*.cpp) | xargs -n 4 -P $(JOBS) clang-tidy-14 -p build/lint --quiet 2>/dev/null

clean:  ## Remove everything that was built; work/ stays
	@rm -rf build

build/%/build.ninja: cmake/dependencies.txt CMakePresets.json
	@tools/setup.sh needed optional
	@tools/quietly.sh build/configure.log cmake --preset $* $(CONFIGURE)
	@touch $@

.PRECIOUS: build/%/build.ninja
.PHONY: help demo test build grade docs sanitize bench gpu measure-build format check-format lint clean
