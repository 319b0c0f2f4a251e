// rungs bench serve --http: the same trace against a server.
#include <fmt/format.h>

#include "bench_serve.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/text.hpp"

#ifdef RUNGS_HAS_HTTPLIB
#include <httplib.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "rungs/measure/measure.hpp"
#endif

namespace rungs {

#ifndef RUNGS_HAS_HTTPLIB

[[noreturn]] static void no_http() {
  throw UsageError("--http: this build has no HTTP: install cpp-httplib (Debian: libcpp-httplib-dev) and build again");
}

Served serve_over_http(const std::string&, const std::vector<Arrival>&) { no_http(); }
Seen ask(const std::string&, const Request&, double) { no_http(); }
void check_answers(const std::string&) { no_http(); }
std::optional<int64_t> server_memory(const std::string&) { no_http(); }

#else

namespace {

using nlohmann::json;

/// Takes the events of a stream as they come.
class EventReader {
 public:
  EventReader(Seen& seen, double due) : seen_(seen), last_(due) {}
  void add(const char* data, size_t size) {
    text_.append(data, size);
    for (size_t end; (end = text_.find("\n\n")) != text_.npos; text_.erase(0, end + 2))
      if (text_.starts_with("data: {")) read(text_.substr(6, end - 6));
  }

 private:
  void read(const std::string& data) {
    try {
      take(json::parse(data));
    } catch (const json::exception&) {
      seen_.wrong = "wanted an event of a completion, found " + printable(data.substr(0, 200));
    }
  }
  void take(const json& event) {
    if (event.contains("error")) seen_.wrong = event.at("error").at("message");
    const json usage = event.value("usage", json());  // some servers say null until the end
    if (usage.is_object()) {
      seen_.tokens = usage.at("completion_tokens");
      if (usage.contains("prompt_tokens_details"))  // not every server says it
        seen_.found = usage["prompt_tokens_details"].value("cached_tokens", 0);
    }
    if (event.value("choices", json()).empty()) return;
    const double at = now();
    if (began_)
      seen_.gaps.push_back(at - last_);
    else
      seen_.first = at - last_;
    last_ = at, began_ = true;
  }
  Seen& seen_;
  double last_;
  bool began_ = false;
  std::string text_ = {};
};

/// Whatever its status.
httplib::Result get(const std::string& url, const char* path) {
  httplib::Client client(url);
  client.set_connection_timeout(5), client.set_read_timeout(20);
  httplib::Result result = client.Get(path);
  if (!result)
    throw Error(fmt::format("{}: nothing answers there ({}): is the server running? `rungs serve` prints its URL", url,
                            httplib::to_string(result.error())));
  return result;
}

}  // namespace

void check_answers(const std::string& url) { get(url, "/health"); }

std::optional<int64_t> server_memory(const std::string& url) {
  const auto result = get(url, "/metrics");
  const std::string key = "\nrungs_resident_memory_bytes ";
  const size_t at = result->body.find(key);
  if (at == std::string::npos) return {};
  return std::atoll(result->body.c_str() + at + key.size());
}

Seen ask(const std::string& url, const Request& request, double due) {
  Seen seen;
  const json body = {{"prompt", request.prompt}, {"max_tokens", request.max_tokens},
                     {"temperature", 0},         {"ignore_eos", true},
                     {"stream", true},           {"stream_options", {{"include_usage", true}}}};
  httplib::Client client(url);
  client.set_read_timeout(600);
  EventReader reader(seen, due);
  httplib::Request http;
  http.method = "POST", http.path = "/v1/completions", http.body = body.dump();
  http.set_header("Content-Type", "application/json");
  http.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    reader.add(data, size);
    return true;
  };
  const auto result = client.send(http);
  if (!result)
    seen.wrong = "no answer: " + httplib::to_string(result.error());
  else if (result->status != 200)
    seen.wrong = fmt::format("status {}", result->status);
  else if (seen.tokens == 0 && seen.wrong.empty())
    seen.wrong = "the answer ended before its end";
  return seen;
}

Served serve_over_http(const std::string& url, const std::vector<Arrival>& trace) {
  std::vector<Seen> seen(trace.size());
  std::vector<std::thread> clients;
  const double begin = now();
  for (size_t i = 0; i < trace.size(); ++i) {
    const double due = begin + trace[i].time;
    if (const double wait = due - now(); wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    clients.emplace_back([&, i, due] { seen[i] = ask(url, trace[i].request, due); });
  }
  for (std::thread& client : clients) client.join();
  Served s;
  s.seconds = now() - begin;
  for (const Seen& one : seen) {
    if (!one.wrong.empty()) throw Error(url + ": " + one.wrong);
    s.tokens += one.tokens, s.found += one.found;
    s.first.push_back(one.first);
    s.gaps.insert(s.gaps.end(), one.gaps.begin(), one.gaps.end());
  }
  return s;
}

#endif

}  // namespace rungs
