/// The words that CUDA adds to C++, for a compiler that does not know them.
#pragma once

#ifdef __CUDACC__
#error \
    "kernels/emulator is for host compilers: nvcc must find its own cuda_runtime.h, so take kernels/emulator/include off its path"
#endif

/// Says to files that serve both that the device is the CPU.
#define RUNGS_CUDA_ON_CPU 1

#if defined(__SANITIZE_ADDRESS__)
#define RUNGS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RUNGS_ASAN 1
#endif
#endif

// Blocks run on several OS threads, each with a copy of what belongs to a block. The checker keeps one account of
// shared memory, and AddressSanitizer puts red zones around plain statics only: there, blocks run one after the other.
#if defined(RUNGS_ASAN) || defined(RUNGS_CHECKED)
#define RUNGS_ONE_BLOCK_AT_A_TIME 1
#define RUNGS_PER_BLOCK
#else
#define RUNGS_PER_BLOCK thread_local
#endif

// What the engine does inside a kernel's file must not look like the kernel's own accesses to the checker.
#define RUNGS_UNSEEN __attribute__((no_sanitize("thread")))

// Leaves the kernel's address in a table, by which the engine tells kernels from the functions that they call.
#define __global__ __attribute__((patchable_function_entry(1, 0)))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// The tag marks the symbol, so that the engine finds name, address and size of each array in the program's symbol
// table.
#define __shared__ static RUNGS_PER_BLOCK __attribute__((abi_tag("shared")))
// __noinline__ is not defined: the standard library spells attributes with that word.
