/// What `rungs generate` computes with: in the program rungs the library's parts, in rungs_mine the learner's wherever
/// their lessons passed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/parallel/collectives.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs {

/// The ids of some texts.
using Sequences = std::vector<std::vector<int32_t>>;

/// Makes text of tokens as they come, never half a character.
struct TextStream {
  std::function<std::string(int32_t id)> next;  ///< what can be shown now that this token is there
  std::function<std::string()> end;             ///< what is left when no token follows
};

/// Whose code a part of generation is.
struct EnginePart {
  std::string lesson, functions;  ///< "10_grouped_query", "sdpa"
  bool mine;                      ///< the learner's; otherwise the library's, because:
  std::string why;                ///< "not started: rungs start 10"
};

/// Where several ranks share a model: this one, and what it has done so far.
struct RankReport {
  int rank, ranks;
  int64_t weight_bytes;  ///< of its share
  int64_t all_reduces, all_gathers, broadcasts, bytes_sent;
};

/// The parts that generation is made of: the library's, unless overridden.
class Engine {
 public:
  explicit Engine(const Backend& backend) : backend_(backend) {}
  virtual ~Engine() = default;

  /// Of what a model needs, which part is whose; empty where nobody asked.
  virtual std::vector<EnginePart> parts(const Config&) const { return {}; }
  /// Nothing where one process has the whole model. Rank 0 alone prints.
  virtual std::optional<RankReport> ranks() const { return {}; }
  virtual std::unique_ptr<Tokenizer> tokenizer(const std::filesystem::path& path) { return load_tokenizer(path); }
  /// `begins`: no text stands before the first token.
  virtual TextStream stream(const Tokenizer& tokenizer, bool begins) const;
  virtual std::unique_ptr<Model> model(const std::filesystem::path& path, const LoadOptions& options) {
    return load_model(backend_, path, options);
  }
  virtual Sequences generate(Model& model, const Sequences& prompts, const GenerateOptions& options,
                             const std::function<void(const Step&)>& on_step) {
    return rungs::generate(model, prompts, options, on_step);
  }
  /// Called now and then by whoever keeps a model and has nothing to compute.
  virtual void idle() {}

 protected:
  Backend backend_;
};

/// Goes on in the program that has this backend, with the same command line: those of CUDA are in other programs.
/// Returns where this is the one. \throws UsageError where it cannot be built
void become_program_of(const DeviceChoice& device);

/// The backend of a device, made once and kept, in the program that has it. \throws UsageError where the device cannot
/// be used, saying how to do without.
Backend backend_of(const DeviceChoice& device);

/// What one of several ranks computes with.
struct RankBackend {
  Backend backend;
  Collectives collectives;
};

/// The backend of this rank, on a GPU of its own where there are enough, and what sums over the ranks. All ranks call
/// it, in the program that has the backend. `rank_here`: which of the ranks on this machine this one is. `patience`:
/// seconds that a rank waits for another. \throws UsageError as backend_of; RankLost
RankBackend backend_of_rank(const DeviceChoice& device, Communicator& ranks, int rank_here, double patience);

/// The one of this program, on this device.
std::unique_ptr<Engine> make_engine(const DeviceChoice& device);

/// What `rungs generate` does, with this engine.
int generate_text(const GenerateCommand& command, Engine& engine);

/// This program is rungs_mine.
extern const bool engine_is_mine;

}  // namespace rungs
