#include "cublas.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "bench.hpp"

namespace rungs::bench {

namespace {

// Names and numbers of the library's C interface, versions 11 to 13.
using Handle = struct cublasContext*;
enum { normal = 0, transposed = 1 };
enum { real_f32 = 0, real_bf16 = 14, compute_f32 = 68, default_algorithm = -1 };

struct Cublas {
  Handle handle = nullptr;
  int (*create)(Handle*) = nullptr;
  int (*sgemm)(Handle, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
               float*, int) = nullptr;
  int (*gemm)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
              void*, int, int, int, int) = nullptr;

  Cublas() {
    if (!on_gpu) return;
    const char* given = std::getenv("RUNGS_CUBLAS");
    for (const char* name : {given, "libcublas.so.13", "libcublas.so.12", "libcublas.so",
                             "/usr/local/cuda/lib64/libcublas.so.13", "/usr/local/cuda/lib64/libcublas.so"}) {
      void* library = name ? dlopen(name, RTLD_NOW) : nullptr;
      if (!library) continue;
      find(create, library, "cublasCreate_v2");
      find(sgemm, library, "cublasSgemm_v2");
      find(gemm, library, "cublasGemmEx");
      if (create && sgemm && gemm && create(&handle) == 0) return;
      handle = nullptr;
    }
  }
  template <class F>
  static void find(F& function, void* library, const char* name) {
    function = reinterpret_cast<F>(dlsym(library, name));
  }
};

const Cublas& cublas() {
  static const Cublas library;
  return library;
}

constexpr float one = 1, zero = 0;

}  // namespace

// Its default mode computes products of f32 in f32. It is column-major: what is c to us is its transpose to it, so the
// factors change places.
bool cublas_f32(float* c, const float* a, const float* b, int M, int N, int K) {
  const Cublas& l = cublas();
  if (!l.handle) return false;
  return l.sgemm(l.handle, normal, normal, N, M, K, &one, b, N, a, K, &zero, c, N) == 0;
}

bool cublas_bf16(float* c, const bf16* a, const bf16* b, int M, int N, int K) {
  const Cublas& l = cublas();
  if (!l.handle) return false;
  return l.gemm(l.handle, transposed, normal, N, M, K, &one, b, real_bf16, K, a, real_bf16, K, &zero, c, real_f32, N,
                compute_f32, default_algorithm) == 0;
}

}  // namespace rungs::bench
