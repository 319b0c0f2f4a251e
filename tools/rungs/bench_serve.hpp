/// What `rungs bench serve` measures in one process and over HTTP alike.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "commands.hpp"
#include "rungs/batching/request.hpp"
#include "rungs/model/config.hpp"

namespace rungs {

/// A request, and when it comes, in seconds.
struct Arrival {
  double time;
  Request request;
};

/// How one way to serve fared. Times in seconds.
struct Served {
  double seconds = 0, scheduler = 0;  ///< scheduler: its part of all steps; 0 where that is not known
  int64_t tokens = 0, found = 0;
  std::vector<double> first = {};  ///< from arrival to first token
  std::vector<double> gaps = {};   ///< between tokens of one request; over HTTP, between the events that carry them
};

/// A request whose prompt begins with `prefix`; lengths of prompt and answer uniform in their logarithm, which mixes
/// short and long ones.
Request any_request(std::mt19937_64& random, const std::vector<int32_t>& prefix, const Config& config);

/// What one client saw. Times in seconds.
struct Seen {
  double first = 0;  ///< from the time when it was due to the first token
  std::vector<double> gaps = {};
  int64_t tokens = 0, found = 0;
  std::string wrong = {};  ///< "": it got its whole answer
};

/// Asks a running `rungs serve` and reads the answer to its end. \throws UsageError in a build without cpp-httplib
Seen ask(const std::string& url, const Request& request, double due);

/// \throws Error where nothing answers; UsageError in a build without cpp-httplib
void check_answers(const std::string& url);

/// Bytes that the process of a running `rungs serve` has in memory; nothing where it does not say. \throws Error where
/// nobody answers
std::optional<int64_t> server_memory(const std::string& url);

/// rungs bench serve --clients: many clients that ask a server without pause.
int bench_soak(const BenchServeCommand& command, const Config& config);

/// Sends each request to a running `rungs serve` when it is due, each in a thread of its own. \throws Error where one
/// is not answered; UsageError in a build without cpp-httplib
Served serve_over_http(const std::string& url, const std::vector<Arrival>& trace);

}  // namespace rungs
