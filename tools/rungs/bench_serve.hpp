/// What `rungs bench serve` measures in one process and over HTTP alike.
#pragma once

#include <string>
#include <vector>

#include "rungs/batching/request.hpp"

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

/// Sends each request to a running `rungs serve` when it is due, each in a thread of its own. \throws Error where one
/// is not answered; UsageError in a build without cpp-httplib
Served serve_over_http(const std::string& url, const std::vector<Arrival>& trace);

}  // namespace rungs
