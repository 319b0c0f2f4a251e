/// What the measurements of kernels share: memory that rotates, the stopwatch, checks, the table and the JSON.
#pragma once

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "memory.hpp"

namespace rungs::bench {

/// \name Where this program runs: gpu.cpp or host.cpp
///@{
extern const bool on_gpu;
bool wgmma_runs_here();  ///< matmul_08 can be measured
/// matmul_08 where there is one.
void wgmma_matmul(float* c, const bf16* a, const bf16* b, int M, int N, int K, int parts, cudaStream_t stream);
///@}

/// What a rung does in a second is counted in these.
enum class Unit { flop, byte };

/// One thing to measure.
struct Rung {
  std::string name;  ///< "04 register tile"
  double work;       ///< floating-point operations or bytes of one call
  /// The call; `turn` says which of the rotated arrays it takes.
  std::function<void(int turn)> run;
  std::function<void()> poison;  ///< makes every result wrong
  /// How far the results of this turn are from right, as a share of the tolerance.
  std::function<double(int turn)> fault;
  std::string wanted = {};  ///< the share that is aimed at: "70% (92%)"
};

/// Measures rungs, ladder by ladder, and reports them.
class Bench {
 public:
  struct Options {
    bool tiny = false;                                 ///< sizes that only show that everything works
    std::string only;                                  ///< the ladders whose name begins so; empty: all
    double seconds = 0.3;                              ///< that a rung is measured for
    std::filesystem::path out;                         ///< the file for the report; empty: none
    std::map<std::string, double> torch_milliseconds;  ///< of each shape's prefill
  };
  explicit Bench(const Options& options);
  ~Bench();

  /// The size for this run: a GPU's, that of a CPU, or tiny.
  int size(int gpu, int cpu, int tiny) const { return options_.tiny ? tiny : on_gpu ? gpu : cpu; }
  const Options& options() const { return options_; }
  bool wants(const std::string& ladder) const { return ladder.starts_with(options_.only); }
  /// How many copies of what one call touches go beyond the L2 cache four times over.
  int turns(size_t bytes_per_call) const;

  /// Begins a ladder. yardstick: what the device reaches in a second, 0: not known; of: its name.
  void ladder(const std::string& name, const std::string& shape, Unit unit, double yardstick, const std::string& of);
  /// Checks, measures and checks again. A fault is reported and does not end the run. \returns the speed, 0: not right.
  double measure(const Rung& rung);
  /// The same of what the ladder that was begun last is compared with. It is not ours: where it is outside of its
  /// tolerance it is marked, and stays the yardstick; where it gives no numbers, it is none.
  void measure_yardstick(const Rung& rung);
  /// A line that was measured elsewhere: `figures` go into the JSON as they are.
  void line(const std::string& name, double milliseconds, double work, double worst_fault, const std::string& wanted,
            nlohmann::ordered_json figures);

  /// A line for what ended with an error.
  void failed(const std::string& name, const std::string& error);

  /// The bandwidth of copying, in bytes a second; 0 on a CPU, where it would say nothing.
  double copy_bandwidth = 0;
  /// The same of reading alone, which is what decoding does.
  double read_bandwidth = 0;

  /// What follows must end within some seconds; when it does not, the report is made of what there is and the program
  /// ends with status 3.
  void within(double seconds, const std::string& what);
  /// Prints the table, writes the JSON. \returns the status for main: 1 when something was not right.
  int finish();

 private:
  /// On a CPU it says nothing and is left out.
  void yardstick(double per_second);
  struct Watchdog;
  Options options_;
  int64_t cache_bytes_ = 0;
  nlohmann::ordered_json report_;
  Unit unit_ = Unit::flop;
  double yardstick_ = 0;
  int faults_ = 0;
  std::unique_ptr<Watchdog> watchdog_;
};

/// Compares results with numbers of double precision; keeps the worst.
struct Worst {
  double fraction = 0;  ///< of the tolerance
  void compare(double got, double want, double tolerance) {
    const double found = got == want ? 0 : std::abs(got - want) / tolerance;
    if (!(found <= fraction)) fraction = found;  // a NaN stays
  }
};

/// \name The ladders
///@{
void measure_copies(Bench& bench);
void measure_reads(Bench& bench);
void measure_products(Bench& bench);
void measure_few_rows(Bench& bench);
void measure_rows(Bench& bench);
void measure_choices(Bench& bench);
void measure_attention(Bench& bench);
void measure_models(Bench& bench);
///@}

}  // namespace rungs::bench
