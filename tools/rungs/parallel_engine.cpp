#include "parallel_engine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "rungs/ops/cpu_ops.hpp"
#include "rungs/parallel/agree.hpp"
#include "rungs/parallel/mpi_ranks.hpp"
#include "rungs/parallel/parallel_llama.hpp"
#include "rungs/parallel/split_llama.hpp"

namespace rungs {

std::optional<RankReport> ParallelEngine::ranks() const {
  const Traffic& t = ranks_.traffic();
  return RankReport{ranks_.rank(), ranks_.ranks(), weight_bytes_, t.all_reduces,
                    t.all_gathers, t.broadcasts,   t.bytes_sent};
}

std::unique_ptr<Model> ParallelEngine::model(const std::filesystem::path& path, const LoadOptions& options) {
  if (!load_config(path).is_llama())
    throw UsageError(fmt::format("{}: tensor parallelism wants a LLaMA, found a decoder of part I", path.string()));
  LlamaCheckpoint whole(path, options.context);
  std::vector<Fact> facts = facts_of(whole);
  facts.insert(facts.begin(), {"another version of rungs", hash_of(RUNGS_VERSION)});
  agree(ranks_, facts);
  auto model = std::make_unique<ParallelLlama>(backend_, collectives_, std::move(whole), options);
  weight_bytes_ = weight_bytes(model->weights());
  return model;
}

/// What the ranks must have been asked alike.
static uint64_t hash_of_request(const Sequences& prompts, const GenerateOptions& o) {
  std::string request = fmt::format("{} {} {} {} ", o.max_tokens, o.cache, int(o.cache_dtype), o.context);
  for (const auto& prompt : prompts) request += fmt::format("{}; ", fmt::join(prompt, " "));
  return hash_of(request + fmt::format("{}", fmt::join(o.stop, " ")));
}

Sequences ParallelEngine::generate(Model& model, const Sequences& prompts, const GenerateOptions& options,
                                   const std::function<void(const Step&)>& on_step) {
  agree(ranks_, {{"other prompts or options", hash_of_request(prompts, options)}});
  GenerateOptions shared = options;
  Sampler sampler(options.sampling, 0);
  shared.pick = [&](std::span<const float> logits, const SampleOptions&, double draw) {
    int32_t token = ranks_.rank() == 0 ? sampler.sample(logits, draw) : 0;
    ranks_.broadcast(std::as_writable_bytes(std::span(&token, 1)));
    return token;
  };
  return rungs::generate(model, prompts, shared, on_step);
}

/// Each of the ranks on this machine takes its share of the processors.
static void share_processors(int ranks_here) {
  if (ranks_here > 1) use_threads(std::max(1, int(std::thread::hardware_concurrency()) / ranks_here));
}

int on_ranks(const RankOptions& options, const std::function<int(Communicator&, RankBackend)>& work) {
  become_program_of(options.device);  // while MPI knows nothing of this process
  const Patience patience{options.patience, [](const Error& e) {
                            const int status = report_error(e);
                            std::fflush(stdout);
                            _exit(status);
                          }};
  MpiRanks joined = join_mpi(patience);
  Communicator& ranks = joined.all;
  try {
    if (options.threads == 0) share_processors(joined.here);
    const int status = work(ranks, backend_of_rank(options.device, ranks, joined.rank_here, options.patience));
    std::byte done[1] = {};
    std::vector<std::byte> all(size_t(ranks.ranks()));
    ranks.all_gather(all, std::span<const std::byte>(done));  // nobody leaves while another may still fail
    leave_mpi(patience);
    return status;
  } catch (const std::exception& e) {
    if (ranks.ranks() == 1) throw;
    const auto* lost = dynamic_cast<const RankLost*>(&e);
    const bool own = !lost || lost->rank == ranks.rank();
    if (own) ranks.fail(e.what());
    const bool rank_0_speaks = own || lost->rank != 0 || lost->told_so;
    if (ranks.rank() != (rank_0_speaks ? 0 : 1)) sleep(3);  // the one that speaks ends this process meanwhile
    std::fflush(stdout);
    abort_mpi(report_error(e));
  }
}

int generate_on_ranks(const GenerateCommand& command) {
  const RankOptions options{command.rank_timeout, command.threads, command.device};
  return on_ranks(options, [&](Communicator& ranks, RankBackend mine) {
    ParallelEngine engine(std::move(mine), ranks);
    return generate_text(command, engine);
  });
}

}  // namespace rungs
