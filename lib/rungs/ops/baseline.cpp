// Runs before anything else of a program: a processor that lacks what the build was compiled for ends it with a
// sentence, not with an illegal instruction. What the compiler may use here is what every processor has.
#include <unistd.h>

#include <cstring>

#if defined(__x86_64__)

static void say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(1);
}

/// \throws nothing: this is before the time of exceptions.
[[maybe_unused]] static void need(bool has, const char* feature) {
  if (has) return;
  say("This processor has no ");
  say(feature);
  say(", which this build (" RUNGS_BASELINE ") needs. Build for it: cmake --preset release -DRUNGS_BASELINE=x86-64\n");
  _exit(1);
}

// The linker is told to keep this name, so that every program of the library has it.
extern "C" [[gnu::constructor(101), gnu::target("arch=x86-64")]] void rungs_checks_processor() {
  __builtin_cpu_init();
#ifdef __SSE4_2__
  need(__builtin_cpu_supports("sse4.2"), "SSE4.2");
#endif
#ifdef __AVX2__
  need(__builtin_cpu_supports("avx2"), "AVX2");
#endif
#ifdef __FMA__
  need(__builtin_cpu_supports("fma"), "FMA");
#endif
#ifdef __BMI2__
  need(__builtin_cpu_supports("bmi2"), "BMI2");
#endif
#ifdef __AVX512F__
  need(__builtin_cpu_supports("avx512f"), "AVX-512");
#endif
#ifdef __AVX512BW__
  need(__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"), "AVX-512 with BW and VL");
#endif
#ifdef __AVX512VBMI__
  need(__builtin_cpu_supports("avx512vbmi"), "AVX-512 with VBMI");
#endif
#ifdef __AVX512VNNI__
  need(__builtin_cpu_supports("avx512vnni"), "AVX-512 with VNNI");
#endif
#ifdef __AVX512BF16__
  need(__builtin_cpu_supports("avx512bf16"), "AVX-512 with bf16");
#endif
}

#else

extern "C" void rungs_checks_processor() {}  // the architecture's oldest processor will do

#endif
