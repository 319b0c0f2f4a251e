/// What `rungs serve` is made of besides the engine and the protocol.
#pragma once

#include "commands.hpp"
#include "server_engine.hpp"

namespace rungs {

/// The page at /: one file, which asks for nothing from the net.
std::string_view server_page();

/// Counts in the text format of Prometheus.
std::string metrics_text(const ServerCounts& counts);

/// The sizes that the options ask for. \throws UsageError for options that do not fit
BatchingOptions batching_options(const ServeCommand& command, const Config& config);

/// Listens until a signal ends it; with these parts. \throws as the command, and RankLost
void serve(const ServeCommand& command, Engine& parts);

/// Rank 0 of the processes of mpirun listens, the others follow.
int serve_on_ranks(const ServeCommand& command);

}  // namespace rungs
