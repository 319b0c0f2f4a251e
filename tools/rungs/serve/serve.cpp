// serve: an HTTP server that speaks as OpenAI's does.
#include "serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <future>
#include <random>

#include "chat_template.hpp"
#include "prompts.hpp"
#include "protocol.hpp"
#include "rungs/base/json.hpp"
#include "rungs/generate/sampler.hpp"
#include "rungs/measure/peak_memory.hpp"
#include "rungs/model/generation_config.hpp"
#include "rungs/model/model.hpp"

#ifdef RUNGS_HAS_HTTPLIB
#include "connections.hpp"
#endif

namespace rungs {

std::string metrics_text(const ServerCounts& c) {
  std::string text;
  const auto add = [&](const char* kind, const char* name, const char* help, auto value) {
    text += fmt::format("# HELP rungs_{0} {1}\n# TYPE rungs_{0} {2}\nrungs_{0} {3}\n", name, help, kind, value);
  };
  add("counter", "requests_total", "Requests that came to the engine.", c.requests);
  add("counter", "requests_finished_total", "Requests that got their whole text.", c.finished);
  add("counter", "requests_cancelled_total", "Requests whose client went away.", c.cancelled);
  add("counter", "requests_failed_total", "Requests that were refused by the engine or ended with an error.", c.failed);
  add("counter", "prompt_tokens_total", "Tokens of prompts.", c.prompt_tokens);
  add("counter", "prompt_tokens_found_total", "Tokens of prompts that were in the cache.", c.found_tokens);
  add("counter", "drawn_tokens_total", "Tokens that were drawn.", c.drawn_tokens);
  add("counter", "steps_total", "Calls of the model.", c.steps);
  add("counter", "step_seconds_total", "Seconds of all steps.", c.step_seconds);
  add("counter", "preemptions_total", "Requests that gave their blocks back and were computed again.", c.preemptions);
  add("gauge", "requests_running", "Requests that have a slot.", c.running);
  add("gauge", "requests_waiting", "Requests that wait for a slot or for blocks.", c.waiting);
  add("gauge", "blocks_free", "Blocks of the KV cache that nobody holds.", c.free_blocks);
  add("gauge", "blocks_kept", "Free blocks that can be found by their tokens.", c.kept_blocks);
  if (const auto resident = resident_memory())
    add("gauge", "resident_memory_bytes", "Memory of this process that is in use, mapped files included.", *resident);
  return text;
}

#ifndef RUNGS_HAS_HTTPLIB

void serve(const ServeCommand&, Engine&) {
  throw UsageError(
      "this build has no HTTP: install cpp-httplib (Debian: libcpp-httplib-dev; tools/setup.sh optional) and build "
      "again");
}

int serve(const ServeCommand& command) {
  serve(command, *make_engine(command.device));
  return 0;
}

#else

namespace {

using nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr size_t most_bytes = 8 << 20;              // of a request
constexpr size_t most_read_bytes = 8 * most_bytes;  // of one that is too long: a client read to its end sees the answer

/// Equal, found out in a time that does not say where they differ.
bool same_secret(const std::string& a, const std::string& b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i) difference |= unsigned(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return difference == 0;
}

class Server {
 public:
  Server(const ServeCommand& command, Engine& parts);
  void serve();

 private:
  void add_routes();
  std::optional<HttpError> refusal_of(const httplib::Request& request) const;
  void guard();
  bool answer_at_once(const httplib::Request& request, httplib::Response& response);
  void complete(const httplib::Request& http, const httplib::ContentReader& read, httplib::Response& response,
                bool chat);
  Request request_of(const Asked& asked);
  void stream(httplib::Response& response, const AnswerHead& head, const std::shared_ptr<Answer>& answer, Usage usage,
              bool with_usage);
  void send_parts(httplib::Response& response, const char* type, const std::shared_ptr<Answer>& answer,
                  std::function<std::string(const std::string& text, bool ended)> parts);
  void whole(httplib::Response& response, const AnswerHead& head, const std::shared_ptr<Answer>& answer, Usage usage);
  void wait_for_end();

  const ServeCommand& command_;
  Engine& parts_;
  Config config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<ServerEngine> engine_;
  ChatTemplate template_;
  std::vector<int32_t> stops_, chat_stops_;
  SampleOptions sampling_;  // where a request says nothing else
  std::string name_;        // of the model
  std::random_device random_;
  std::mutex random_mutex_;
  std::atomic<bool> ending_ = false;
  std::atomic<int64_t> sending_ = 0;  // answers whose last byte has not gone yet
  httplib::Server http_;
};

std::atomic<int> signals = 0;  // that said to end; a handler may count in one, as it takes no lock

/// Before this call SIGINT and SIGTERM end the process at once, since nothing is served yet; from now on they are
/// counted for wait_for_end().
void count_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { ++signals; };
  action.sa_flags = SA_RESTART;  // any thread may be the one that is interrupted
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

Server::Server(const ServeCommand& command, Engine& parts)
    : command_(command), parts_(parts), config_(load_config(command.model)) {
  const BatchingOptions options = batching_options(command, config_);
  const std::filesystem::path path = tokenizer_path(command.model, command.tokenizer);
  tokenizer_ = parts_.tokenizer(path);
  check_vocabulary(*tokenizer_, path, config_);
  model_ = parts_.model(command.model, {.max_rows = options.max_rows, .context = options.context});
  engine_ = std::make_unique<ServerEngine>(*model_, options, [&parts] { parts.idle(); });
  template_ = chat_template_of(read_chat_template(command.model));
  stops_ = config_.eos;
  if (stops_.empty() && tokenizer_->eos()) stops_ = {*tokenizer_->eos()};
  chat_stops_ = chat_stops(template_, *tokenizer_);
  chat_stops_.insert(chat_stops_.end(), stops_.begin(), stops_.end());
  sampling_ = sample_options({}, load_generation_config(command.model, config_.vocab_size), openai_sampling);
  name_ = std::filesystem::weakly_canonical(command.model).filename().string();
}

/// An error ends its connection, since what is unread of the request would be taken for the next one. cpp-httplib 0.11
/// goes on whatever a header of the answer says, unless it is told that the answer could not be sent to its end.
void send(httplib::Response& response, int status, const std::string& body, const char* type = "application/json") {
  response.status = status;
  if (status < 400) return response.set_content(body, type);
  response.set_header("Content-Length", std::to_string(body.size()));
  response.set_content_provider(type, [body](size_t, httplib::DataSink& sink) {
    sink.write(body.data(), body.size());
    return false;
  });
}

ordered_json model_json(const std::string& name) {
  return {{"id", name}, {"object", "model"}, {"created", 0}, {"owned_by", "rungs"}};
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
}

bool asks_for_text(const httplib::Request& request) {
  return request.method == "POST" && (request.path == "/v1/completions" || request.path == "/v1/chat/completions");
}

/// What the routes of cpp-httplib are no good for; false: it is for them.
bool Server::answer_at_once(const httplib::Request& request, httplib::Response& response) {
  const std::string models = "/v1/models/";
  if (request.method == "GET" && request.path.starts_with(models)) {  // as a pattern, a long name could fill the stack
    check_model(request.path.substr(models.size()), name_);
    send(response, 200, pretty(model_json(name_)) + "\n");
    return true;
  }
  if (has_body(request) || request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS")
    return false;
  // cpp-httplib would wait for a body until its time is over.
  if (asks_for_text(request)) throw HttpError(400, "the request has no body: wanted JSON");
  response.status = 404;
  return true;
}

/// The name in a Host header, "localhost" of "localhost:8080", is this machine's own.
bool is_loopback(const std::string& host) {
  const std::string name = host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.find(':'));
  return name == "localhost" || name.starts_with("127.") || name == "[::1]";
}

/// Who may ask: with the key, where there is one; and no page of another site, also where that site's name leads to
/// this machine (DNS rebinding).
std::optional<HttpError> Server::refusal_of(const httplib::Request& request) const {
  const std::string origin = request.get_header_value("Origin"), host = request.get_header_value("Host");
  if (!origin.empty() && origin != "http://" + host && origin != "https://" + host)
    return HttpError(403, "pages of other sites may not ask this server");
  if (command_.api_key.empty() && !host.empty() && !is_loopback(host))
    return HttpError(403, "without --api-key this server answers to localhost, 127.0.0.1 and [::1]");
  const bool is_open = request.path == "/" || request.path == "/health";
  if (!is_open && !command_.api_key.empty() &&
      !same_secret(request.get_header_value("Authorization"), "Bearer " + command_.api_key))
    return HttpError(401, "wanted the header \"Authorization: Bearer KEY\" with this server's key", "invalid_api_key");
  return {};
}

void Server::guard() {
  http_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    using Handled = httplib::Server::HandlerResponse;
    if (asks_for_text(request) && has_body(request)) return Handled::Unhandled;  // complete() refuses once it is read
    if (const std::optional<HttpError> refusal = refusal_of(request)) throw *refusal;
    return answer_at_once(request, response) ? Handled::Handled : Handled::Unhandled;
  });
  http_.set_post_routing_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.status < 400) return;
    for (const char* header : {"Connection", "Keep-Alive"}) response.headers.erase(header);
    response.set_header("Connection", "close");
  });
  http_.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
    if (response.has_header("Content-Type")) return;  // it says already what is wrong
    const std::string says = response.status == 404   ? "there is nothing at " + request.method + " " + request.path
                             : response.status == 413 ? "the request is larger than 8 MiB"
                                                      : "the request cannot be read";
    send(response, response.status, error_body(response.status, says));
  });
  http_.set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const HttpError& e) {
      send(response, e.status, error_body(e.status, e.what(), e.code));
    } catch (const UsageError& e) {
      send(response, 400, error_body(400, e.what()));
    } catch (const std::exception& e) {
      send(response, 500, error_body(500, e.what()));
    }
  });
}

void Server::add_routes() {
  http_.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_header(
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'");
    send(response, 200, std::string(server_page()), "text/html; charset=utf-8");
  });
  http_.Get("/health", [this](const httplib::Request&, httplib::Response& response) {
    send(response, ending_ ? 503 : 200, ending_ ? "{\"status\": \"ending\"}\n" : "{\"status\": \"ok\"}\n");
  });
  http_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
    send(response, 200, metrics_text(engine_->counts()), "text/plain; version=0.0.4");
  });
  http_.Get("/state", [this](const httplib::Request&, httplib::Response& response) {
    ordered_json state = engine_->state();
    state["model"] = name_;
    send(response, 200, on_one_line(state));
  });
  http_.Get("/v1/models", [this](const httplib::Request&, httplib::Response& response) {
    send(response, 200, pretty(ordered_json{{"object", "list"}, {"data", {model_json(name_)}}}) + "\n");
  });
  for (const bool chat : {false, true})
    http_.Post(chat ? "/v1/chat/completions" : "/v1/completions",
               [this, chat](const httplib::Request& request, httplib::Response& response,
                            const httplib::ContentReader& read) { complete(request, read, response, chat); });
}

Request Server::request_of(const Asked& asked) {
  Request request{.prompt = {}, .sampling = asked.sampling, .stop = asked.chat ? chat_stops_ : stops_};
  if (asked.ignore_eos) request.stop.clear();
  const int32_t bos = tokenizer_->bos().value_or(config_.bos);
  if (asked.chat)
    request.prompt = chat_tokens(template_, asked.messages, *tokenizer_, bos);
  else if (!asked.ids.empty())
    request.prompt = asked.ids;
  else
    request.prompt =
        (asked.prompt.empty() ? no_prompt(*tokenizer_, config_) : make_prompt(*tokenizer_, config_, asked.prompt))
            .tokens;
  const std::lock_guard lock(random_mutex_);
  request.seed = asked.seed ? *asked.seed : uint64_t(random_()) << 32 | random_();
  request.max_tokens = asked.max_tokens.value_or(as_many_as_fit);
  return request;
}

/// Read to its end, kept or not. \throws HttpError for one that is too long, also where its length was not said, or
/// that ends too soon
std::string body_of(const httplib::Request& http, const httplib::ContentReader& read, bool keep) {
  if (http.is_multipart_form_data()) throw HttpError(400, "the request: wanted JSON, found a form");
  std::string body;
  size_t length = 0;
  const bool whole = read([&](const char* data, size_t size) {
    length += size;
    if (keep && length <= most_bytes) body.append(data, size);
    return length <= most_read_bytes;
  });
  const uint64_t announced = std::strtoull(http.get_header_value("Content-Length").c_str(), nullptr, 10);
  if (std::max<uint64_t>(length, announced) > most_bytes) throw HttpError(413, "the request is larger than 8 MiB");
  if (!whole) throw HttpError(400, "the request ended before its last byte");
  return body;
}

void Server::complete(const httplib::Request& http, const httplib::ContentReader& read, httplib::Response& response,
                      bool chat) {
  const std::optional<HttpError> refusal = refusal_of(http);
  const std::string body = body_of(http, read, !refusal);  // a client that still sends would not see the refusal
  if (refusal) throw *refusal;
  const Asked asked = parse_request(body, chat, name_, sampling_);
  if (ending_) throw HttpError(503, "the server ends: it takes no more requests");
  Request request = request_of(asked);
  const Usage usage{.prompt = int64_t(request.prompt.size())};
  std::vector<std::string> stops = asked.stop;
  if (chat)
    for (const std::string& stop : chat_stop_texts(template_)) stops.push_back(stop);
  const auto answer = engine_->ask(std::move(request), parts_.stream(*tokenizer_, false), std::move(stops));
  static std::atomic<int64_t> number = 0;
  const AnswerHead head{chat, fmt::format("{}-{}", chat ? "chatcmpl" : "cmpl", ++number), name_,
                        int64_t(std::time(nullptr))};
  if (asked.stream)
    stream(response, head, answer, usage, asked.stream_usage);
  else
    whole(response, head, answer, usage);
}

/// As it comes. A client that goes away is noticed when something is to be sent, and in the wait for it.
void Server::send_parts(httplib::Response& response, const char* type, const std::shared_ptr<Answer>& answer,
                        std::function<std::string(const std::string& text, bool ended)> parts) {
  const auto provide = [answer, parts = std::move(parts)](size_t, httplib::DataSink& sink) {
    try {
      const auto [text, ended] = answer->wait();
      const std::string part = parts(text, ended);
      if (!sink.is_writable() || (!part.empty() && !sink.write(part.data(), part.size()))) return false;
      if (ended) sink.done();
      return true;
    } catch (const std::exception&) {
      return false;  // cpp-httplib catches what handlers throw, and nothing here: the process would end
    }
  };
  ++sending_;
  response.set_chunked_content_provider(type, provide, [this, answer](bool) {
    engine_->cancel(answer);
    --sending_;
  });
}

void Server::stream(httplib::Response& response, const AnswerHead& head, const std::shared_ptr<Answer>& answer,
                    Usage usage, bool with_usage) {
  response.set_header("Cache-Control", "no-cache");
  bool begun = !head.chat;
  send_parts(response, "text/event-stream", answer, [=](const std::string& text, bool ended) mutable {
    std::string events = std::exchange(begun, true) ? "" : role_event(head);
    if (!text.empty()) events += text_event(head, text, nullptr);
    if (!ended) return events;
    usage.drawn = answer->drawn(), usage.found = answer->found();
    events += answer->error().empty() ? text_event(head, "", answer->finish()) : error_event(answer->error());
    if (with_usage) events += usage_event(head, usage);
    return events + last_event;
  });
}

/// In one piece, once it is whole; the status has been sent by then, so an error is told by the body alone.
void Server::whole(httplib::Response& response, const AnswerHead& head, const std::shared_ptr<Answer>& answer,
                   Usage usage) {
  send_parts(response, "application/json", answer,
             [=, all = std::string()](const std::string& text, bool ended) mutable -> std::string {
               all += text;
               if (!ended) return "";
               usage.drawn = answer->drawn(), usage.found = answer->found();
               if (!answer->error().empty()) return error_body(500, answer->error());
               return answer_body(head, all, answer->finish(), usage);
             });
}

/// Until a signal says so; then until what runs has ended, or a second signal. Or until the engine cannot go on.
void Server::wait_for_end() {
  while (!engine_->failure() && signals == 0) std::this_thread::sleep_for(100ms);
  ending_ = true;
  if (engine_->failure()) return;
  const auto open = [this] { return engine_->busy() || sending_ > 0; };
  if (open()) fmt::print(stderr, "Finishing {} requests; Ctrl-C again drops them.\n", sending_.load());
  while (open() && !engine_->failure() && signals < 2) std::this_thread::sleep_for(100ms);
  if (open()) fmt::print(stderr, "Dropped {} requests.\n", sending_.load());
}

/// An IPv6 address stands in brackets: its colons are not the one before the port.
std::string in_url(const std::string& host) { return host.find(':') == host.npos ? host : "[" + host + "]"; }

/// Says which of the two is wrong: where no port of the host can be had, it is the host.
[[noreturn]] void cannot_listen(const ServeCommand& command) {
  if (httplib::Server().bind_to_any_port(command.host) < 0)
    throw UsageError(fmt::format(
        "--host {}: wanted an address of this machine, such as 127.0.0.1, ::1 or 0.0.0.0, or its name", command.host));
  throw UsageError(
      fmt::format("--port {} of {} cannot be listened to: is another server there? --port 0 takes any that is free",
                  command.port, command.host));
}

void Server::serve() {
  guard();
  add_routes();
  http_.set_payload_max_length(most_read_bytes);
  http_.set_tcp_nodelay(true);
  http_.set_keep_alive_max_count(1000), http_.set_keep_alive_timeout(2);
  http_.set_read_timeout(5), http_.set_write_timeout(5);
  http_.new_task_queue = [] { return new ConnectionThreads; };
  limit_files();
  socket_t listening = -1;
  // Not SO_REUSEPORT, the library's own choice: two servers would share a port, and clients get either.
  http_.set_socket_options([&listening](socket_t socket) {
    const int yes = 1;
    listening = socket;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  int port = command_.port;
  if (port == 0 ? (port = http_.bind_to_any_port(command_.host)) < 0 : !http_.bind_to_port(command_.host, port))
    cannot_listen(command_);
  ::listen(listening, 512);  // cpp-httplib lets 5 connections wait, and more come at once
  count_signals();
  const auto listener = std::async(std::launch::async, [this] { http_.listen_after_bind(); });
  // stop() would do nothing to a listener that does not run yet, and it would never end.
  while (!http_.is_running() && listener.wait_for(1ms) == std::future_status::timeout) continue;
  fmt::print(
      "{}: {} slots, a context of {} tokens, chats as {}, unless asked otherwise {}. Ctrl-C ends.\nhttp://{}:{}\n",
      name_, command_.slots, model_->config().max_seq_len, name_of(template_), in_words(sampling_),
      in_url(command_.host), port);
  std::fflush(stdout);
  wait_for_end();
  http_.stop();
  // A client that sends a byte now and then, or reads one, would keep its connection for ever.
  if (listener.wait_for(5s) == std::future_status::timeout) end_connections(port);
  listener.wait();
  if (engine_->failure()) std::rethrow_exception(engine_->failure());
}

}  // namespace

void serve(const ServeCommand& command, Engine& parts) {
  std::signal(SIGPIPE, SIG_IGN);
  Server(command, parts).serve();
}

int serve(const ServeCommand& command) {
  if (command.tensor_parallel) return serve_on_ranks(command);
  serve(command, *make_engine(command.device));
  return 0;
}

#endif

}  // namespace rungs
