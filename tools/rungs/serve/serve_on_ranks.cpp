// serve --tensor-parallel: rank 0 listens and schedules, the others compute what it says.
#include <fmt/format.h>

#include <csignal>

#include "parallel_engine.hpp"
#include "rungs/parallel/agree.hpp"
#include "rungs/parallel/lead.hpp"
#include "serve.hpp"

namespace rungs {

namespace {

/// The parts of the rank that listens.
class LeadingEngine final : public ParallelEngine {
 public:
  LeadingEngine(RankBackend mine, Communicator& ranks) : ParallelEngine(std::move(mine), ranks), ranks_(ranks) {}

  std::unique_ptr<Model> model(const std::filesystem::path& path, const LoadOptions& options) override {
    return std::make_unique<LeadingModel>(ParallelEngine::model(path, options), ranks_);
  }
  void idle() override { ask_followers(ranks_); }

 private:
  Communicator& ranks_;
};

/// The sizes of the cache must be alike on all ranks.
void agree_on(Communicator& ranks, const BatchingOptions& o) {
  const std::string sizes = fmt::format("{} {} {} {} {}", o.blocks, o.block_size, o.max_running, o.max_rows, o.context);
  agree(ranks, {{"other options", hash_of(sizes)}});
}

void follow_rank_0(const ServeCommand& command, Communicator& ranks, RankBackend mine, const BatchingOptions& o) {
  ParallelEngine parts(std::move(mine), ranks);
  const auto model = parts.model(command.model, {.max_rows = o.max_rows, .context = o.context});
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);  // rank 0 says when it ends
  follow(*model, ranks, o.max_running, {o.blocks, o.block_size}, DType::f32);
}

}  // namespace

int serve_on_ranks(const ServeCommand& command) {
  const RankOptions how{command.rank_timeout, command.threads, command.device};
  return on_ranks(how, [&](Communicator& ranks, RankBackend mine) {
    const BatchingOptions options = batching_options(command, load_config(command.model));
    agree_on(ranks, options);
    if (ranks.rank() > 0) {
      follow_rank_0(command, ranks, std::move(mine), options);
      return 0;
    }
    LeadingEngine parts(std::move(mine), ranks);
    serve(command, parts);
    end_followers(ranks);
    return 0;
  });
}

}  // namespace rungs
