#include "rungs/batching/batch_engine.hpp"

#include <fmt/format.h>

#include <chrono>

#include "rungs/generate/nan_check.hpp"

namespace rungs {

static BatchingOptions with_context(BatchingOptions options, const Model& model) {
  const int64_t context = model.config().max_seq_len;
  if (options.context < 0 || options.context > context)
    throw UsageError(fmt::format("context: wanted 1 to {}, which is the model's, found {}", context, options.context));
  if (options.max_rows > model.max_rows())
    throw UsageError(
        fmt::format("a step of {} tokens: this model was loaded for at most {}", options.max_rows, model.max_rows()));
  if (options.context == 0) options.context = context;
  return options;
}

BatchEngine::BatchEngine(Model& model, BatchingOptions options, DType cache_dtype)
    : model_(model),
      scheduler_(with_context(options, model)),
      cache_(model.backend().device, model.config(), options.max_running, {options.blocks, options.block_size},
             cache_dtype),
      logits_(model.backend().device.allocate({options.max_running, model.config().vocab_size})),
      host_(size_t(logits_.count())) {}

int64_t BatchEngine::cache_bytes() const {
  int64_t bytes = 0;
  for (const LayerCache& layer : cache_.layers) bytes += int64_t(layer.k.bytes() + layer.v.bytes());
  return bytes;
}

int64_t BatchEngine::submit(Request request) {
  for (size_t i = 0; i < request.prompt.size(); ++i)
    if (request.prompt[i] < 0 || request.prompt[i] >= model_.config().vocab_size)
      throw UsageError(fmt::format("token id {} at position {} is not in [0, {})", request.prompt[i], i,
                                   model_.config().vocab_size));
  return scheduler_.submit(std::move(request));
}

/// One call for all pieces; the logits of those that draw are in host_ then, in their order.
void BatchEngine::run(const Plan& plan, int64_t draws) {
  for (const Plan::Copy& copy : plan.copies) model_.copy_block(cache_, copy.to, copy.from);
  batch_.clear();
  for (const auto& [request, start, count, piece_draws] : plan.pieces) {
    cache_.tables[size_t(request->slot)] = request->blocks;
    batch_.add(int32_t(request->slot), std::span(request->tokens).subspan(size_t(start), size_t(count)), start, true);
    if (!piece_draws) batch_.logit_rows.pop_back();
  }
  if (draws == 0) batch_.logit_rows.push_back(0);  // a model gives at least one row of logits
  const int64_t wanted = std::max<int64_t>(draws, 1);
  Tensor logits = logits_.view_rows(0, wanted);  // (wanted, V)
  forward_finite(model_, std::span(host_).first(size_t(logits.count())), logits, batch_, &cache_);
}

std::vector<DrawnToken> BatchEngine::step(const OnLogits& on_logits) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
  const auto start = Clock::now();
  const Plan plan = scheduler_.plan();
  if (plan.pieces.empty()) return {};
  int64_t draws = 0;
  for (const Piece& piece : plan.pieces) draws += piece.draws, stats_.rows += piece.count;
  stats_.scheduler_seconds += since(start);
  try {
    run(plan, draws);
  } catch (...) {
    scheduler_.abandon_step(plan);
    throw;
  }
  const auto computed = Clock::now();
  scheduler_.finish_step(plan);
  stats_.scheduler_seconds += since(computed);

  std::vector<DrawnToken> drawn;
  const size_t V = size_t(model_.config().vocab_size);
  for (const Piece& piece : plan.pieces) {
    if (!piece.draws) continue;
    const std::span<const float> logits = std::span(host_).subspan(drawn.size() * V, V);
    if (on_logits) on_logits(piece.request->id, piece.start + piece.count, logits);
    drawn.push_back({piece.request->id, piece.request->sampler.next(logits), Finish::no});
  }
  for (DrawnToken& d : drawn) d.finish = scheduler_.append(d.id, d.token);
  ++stats_.steps;
  stats_.drawn += int64_t(drawn.size());
  stats_.copies += int64_t(plan.copies.size());
  stats_.seconds += since(start);
  return drawn;
}

}  // namespace rungs
