// The options of rungs serve, and the sizes that follow from them.
#include <fmt/format.h>

#include <algorithm>

#include "need.hpp"
#include "serve.hpp"

namespace rungs {

/// Tokens of a step.
static int64_t most_rows(const ServeCommand& c) { return std::max<int64_t>(256, c.slots); }

static void check(const ServeCommand& c, const Config& config) {
  need("--port", c.port >= 0 && c.port <= 65535, "0 (any that is free) to 65535", c.port);
  need("--slots", c.slots >= 1 && c.slots <= 1024, "1 to 1024", c.slots);
  need("--chunk", c.chunk >= 1 && c.chunk <= most_rows(c),
       fmt::format("1 to {}, which is the most that a step feeds", most_rows(c)), c.chunk);
  need("--context", c.context >= 0 && c.context <= config.usable_context(),
       fmt::format("1 to {}, which is the model's", config.usable_context()), c.context);
  need("--max-tokens-in-flight", c.max_tokens_in_flight >= 0 && c.max_tokens_in_flight <= (int64_t(1) << 32),
       "0 (as many as the slots can have) to 2^32", c.max_tokens_in_flight);
  need("--block-size", c.block_size >= 0 && c.block_size <= 4096, "0 (as the model needs) to 4096", c.block_size);
  need("--host", !c.host.empty(), "an address of this machine, such as 127.0.0.1", "none");
  const bool here = c.host == "localhost" || c.host.starts_with("127.") || c.host == "::1";
  if (!here && c.api_key.empty())
    throw UsageError(fmt::format("--host {} is heard by other machines: say --api-key KEY, too", c.host));
}

BatchingOptions batching_options(const ServeCommand& c, const Config& config) {
  check(c, config);
  const int64_t context = c.context ? c.context : config.usable_context();
  BatchingOptions options{.block_size = c.block_size ? c.block_size : usual_block_size(config),
                          .max_running = c.slots,
                          .max_rows = most_rows(c),
                          .prompt_rows = c.chunk,
                          .context = context};
  constexpr int64_t usual = 65536;  // tokens, where nobody says
  const auto blocks_for = [&](int64_t tokens) { return (tokens + options.block_size - 1) / options.block_size; };
  options.blocks = c.max_tokens_in_flight ? blocks_for(c.max_tokens_in_flight)
                                          : std::min(c.slots * blocks_for(context), blocks_for(usual));
  return options;
}

}  // namespace rungs
