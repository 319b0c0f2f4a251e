/// What `rungs serve` is made of besides the engine and the protocol.
#pragma once

#include "commands.hpp"
#include "server_engine.hpp"

namespace rungs {

/// The page at /: one file, which asks for nothing from the net.
std::string_view server_page();

/// Counts in the text format of Prometheus.
std::string metrics_text(const ServerCounts& counts);

}  // namespace rungs
