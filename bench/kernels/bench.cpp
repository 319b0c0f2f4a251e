#include "bench.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "rungs/base/file.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs::bench {

/// A thread that ends the program when the main one hangs: no wait for a device can be interrupted otherwise.
struct Bench::Watchdog {
  std::mutex mutex;
  std::string what;
  double until = 0;
  std::atomic<bool> over = false;
  std::thread thread;

  explicit Watchdog(Bench& bench)
      : thread([this, &bench] {
          while (!over) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            const std::lock_guard lock(mutex);
            if (until == 0 || now() < until) continue;
            fmt::print(stderr, "{} did not end in time: a kernel hangs, or the device is busy with others\n", what);
            bench.report_["stopped_at"] = what;
            bench.finish();
            std::_Exit(3);
          }
        }) {}
  ~Watchdog() {
    over = true;
    thread.join();
  }
};

namespace {

/// What the measured device is.
nlohmann::ordered_json device() {
  if (!on_gpu) return {{"name", machine()}, {"runs", "the kernels on the CPU: kernels/emulator"}};
  cudaDeviceProp p;
  int driver = 0, runtime = 0, current = 0;
  CUDA_CHECK(cudaGetDevice(&current));
  CUDA_CHECK(cudaGetDeviceProperties(&p, current));
  CUDA_CHECK(cudaDriverGetVersion(&driver));
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  return {{"name", p.name},
          {"compute_capability", fmt::format("{}.{}", p.major, p.minor)},
          {"multiprocessors", p.multiProcessorCount},
          {"memory_bytes", p.totalGlobalMem},
          {"driver", driver},
          {"runtime", runtime},
          {"host", machine()}};
}

std::string today() {
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  return fmt::format("{:04}-{:02}-{:02}", int(date.year()), unsigned(date.month()), unsigned(date.day()));
}

struct Events {
  cudaEvent_t begin, end;
  Events() {
    CUDA_CHECK(cudaEventCreate(&begin));
    CUDA_CHECK(cudaEventCreate(&end));
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
};

/// Milliseconds of `calls` calls, one behind the other.
double batch(const Events& events, const std::function<void(int)>& run, int first, int calls) {
  CUDA_CHECK(cudaEventRecord(events.begin, nullptr));
  for (int i = 0; i < calls; ++i) run(first + i);
  CUDA_CHECK(cudaEventRecord(events.end, nullptr));
  CUDA_CHECK(cudaEventSynchronize(events.end));
  float milliseconds = 0;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events.begin, events.end));
  return milliseconds;
}

/// 1.5e12 as 1.50 of T.
std::string speed_text(double per_second, Unit unit) {
  const char* name = unit == Unit::flop ? "FLOP/s" : "B/s";
  if (per_second >= 1e12 && unit == Unit::flop) return fmt::format("{:.1f} T{}", per_second * 1e-12, name);
  return fmt::format("{:.1f} G{}", per_second * 1e-9, name);
}

std::string cell(const nlohmann::ordered_json& line, const char* key, const char* format, double times = 1) {
  if (!line.contains(key) || line[key].is_null()) return "";
  return fmt::format(fmt::runtime(format), line[key].get<double>() * times);
}

}  // namespace

Bench::Bench(const Options& options) : options_(options) {
  if (on_gpu) {
    int current = 0, bytes = 0;
    CUDA_CHECK(cudaGetDevice(&current));
    CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, current));
    cache_bytes_ = bytes;
  }
  report_ = {
      {"benchmark", "kernels"}, {"date", today()}, {"device", device()}, {"ladders", nlohmann::ordered_json::array()}};
  watchdog_ = std::make_unique<Watchdog>(*this);
}

Bench::~Bench() = default;

int Bench::turns(size_t bytes_per_call) const {
  if (!on_gpu) return options_.tiny ? 2 : 1;
  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  const size_t wanted = 4 * size_t(cache_bytes_) / bytes_per_call + 2, possible = free / 2 / bytes_per_call;
  return int(std::max<size_t>(1, std::min({wanted, possible, size_t(1024)})));
}

void Bench::ladder(const std::string& name, const std::string& shape, Unit unit, double yardstick,
                   const std::string& of) {
  unit_ = unit;
  nlohmann::ordered_json entry = {{"ladder", name}, {"shape", shape}, {"unit", unit == Unit::flop ? "FLOP/s" : "B/s"}};
  entry["yardstick"] = of;
  entry["yardstick_per_second"] = nullptr;
  entry["rungs"] = nlohmann::ordered_json::array();
  report_["ladders"].push_back(entry);
  this->yardstick(yardstick);
  fmt::print(stderr, "{}, {}\n", name, shape);
}

void Bench::yardstick(double per_second) {
  yardstick_ = on_gpu ? per_second : 0;
  if (yardstick_ > 0) report_["ladders"].back()["yardstick_per_second"] = yardstick_;
}

double Bench::measure(const Rung& rung) try {
  within(60, report_["ladders"].back()["ladder"].get<std::string>() + ", " + rung.name);
  double worst = 0;
  const auto check = [&](int turn) {
    rung.poison();
    rung.run(turn);
    CUDA_CHECK(cudaDeviceSynchronize());
    const double fault = rung.fault(turn);
    if (!(fault <= worst)) worst = fault;
  };
  check(0);

  const Events events;
  const double once = std::max(batch(events, rung.run, 1, 1), 1e-3);
  const double time = options_.tiny ? 0 : options_.seconds * 1e3;
  const int calls = int(std::clamp(time / 15 / once, 1.0, 1000.0));
  std::vector<double> each;
  double spent = 0;
  int turn = 2;
  while (each.size() < 3 || (spent < time && each.size() < 101)) {
    const double took = batch(events, rung.run, turn, calls);
    turn += calls, spent += took;
    each.push_back(took / calls);
  }
  check(turn);
  nlohmann::ordered_json figures = {{"calls", calls * int(each.size())},
                                    {"lowest_milliseconds", *std::min_element(each.begin(), each.end())},
                                    {"highest_milliseconds", *std::max_element(each.begin(), each.end())}};
  const double milliseconds = median(each);
  line(rung.name, milliseconds, rung.work, worst, rung.wanted, figures);
  return worst <= 1 ? rung.work / milliseconds * 1e3 : 0;
} catch (const std::exception& e) {
  failed(rung.name, e.what());
  return 0;
}

void Bench::measure_yardstick(const Rung& rung) {
  const int faults = faults_;
  measure(rung);
  auto& entry = report_["ladders"].back()["rungs"].back();
  if (entry.contains("failed") || entry["share_of_tolerance"].is_null()) return;
  faults_ = faults;
  entry["is_yardstick"] = true;
  const bool right = entry["right"];
  yardstick(entry["per_second"]);
  report_["ladders"].back()["yardstick_right"] = right;
}

void Bench::failed(const std::string& name, const std::string& error) {
  ++faults_;
  report_["ladders"].back()["rungs"].push_back({{"rung", name}, {"failed", error}});
  fmt::print(stderr, "  {}: {}\n", name, error);
}

void Bench::line(const std::string& name, double milliseconds, double work, double worst_fault,
                 const std::string& wanted, nlohmann::ordered_json figures) {
  const double speed = work / milliseconds * 1e3;
  nlohmann::ordered_json entry = {{"rung", name}, {"milliseconds", milliseconds}, {"per_second", speed}};
  entry["share"] = yardstick_ > 0 ? nlohmann::ordered_json(speed / yardstick_) : nlohmann::ordered_json();
  entry["right"] = worst_fault <= 1;
  entry["share_of_tolerance"] =
      std::isfinite(worst_fault) ? nlohmann::ordered_json(worst_fault) : nlohmann::ordered_json();
  if (!wanted.empty()) entry["wanted"] = wanted;
  entry.update(figures);
  if (!(worst_fault <= 1)) ++faults_;
  fmt::print(stderr, "  {}: {:.4f} ms{}\n", name, milliseconds,
             worst_fault <= 1 ? "" : fmt::format(", and WRONG: {:.3g} times its tolerance", worst_fault));
  report_["ladders"].back()["rungs"].push_back(entry);
}

void Bench::within(double seconds, const std::string& what) {
  const std::lock_guard lock(watchdog_->mutex);
  watchdog_->what = what;
  watchdog_->until = seconds > 0 ? now() + (on_gpu ? 1 : 10) * seconds : 0;
}

int Bench::finish() {
  report_["faults"] = faults_;
  fmt::print("\n{}, {}\n", report_["device"]["name"].get<std::string>(), report_["date"].get<std::string>());
  for (const auto& ladder : report_["ladders"]) {
    const Unit unit = ladder["unit"] == "FLOP/s" ? Unit::flop : Unit::byte;
    fmt::print("\n{}: {}\n", ladder["ladder"].get<std::string>(), ladder["shape"].get<std::string>());
    if (!ladder["yardstick_per_second"].is_null())
      fmt::print("  yardstick: {}, {}{}\n", ladder["yardstick"].get<std::string>(),
                 speed_text(ladder["yardstick_per_second"], unit),
                 ladder.value("yardstick_right", true) ? "" : ", outside of its tolerance");
    const bool compared = on_gpu;  // a CPU has no yardstick
    fmt::print("  {:<34} {:>12} {:>15}{}\n", "", "ms", "speed", compared ? "   share       wanted" : "");
    for (const auto& rung : ladder["rungs"]) {
      const std::string name = rung["rung"];
      if (rung.contains("failed")) {
        fmt::print("  {:<34} FAILED: {}\n", name, rung["failed"].get<std::string>());
        continue;
      }
      fmt::print("  {:<34} {:>12} {:>15}", name, cell(rung, "milliseconds", "{:.4f}"),
                 speed_text(rung["per_second"], unit));
      if (compared)
        fmt::print(" {:>7} {:>12}", cell(rung, "share", "{:.0f}%", 100), rung.value("wanted", std::string()));
      const char* wrong = rung.contains("is_yardstick") ? "  outside of its tolerance" : "  WRONG";
      fmt::print("{}\n", rung["right"].get<bool>() ? "" : wrong);
    }
  }
  if (!options_.out.empty()) {
    write_whole(options_.out, [&](std::ostream& out) { out << report_.dump(2) << '\n'; });
    fmt::print("\nWritten to {}\n", options_.out.string());
  }
  if (faults_) fmt::print("\n{} of these are not right.\n", faults_);
  return faults_ ? 1 : 0;
}

}  // namespace rungs::bench
