/// One thread that steps the batching engine, for requests that come from many.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine.hpp"
#include "rungs/batching/batch_engine.hpp"
#include "stop_texts.hpp"

namespace rungs {

/// The text of one request as it comes. Whoever asked waits for it; the thread of the engine writes it.
class Answer {
 public:
  /// Text that came since the last call, and whether it was the end. Waits for one of the two, a tenth of a second at
  /// most.
  std::pair<std::string, bool> wait();

  // After the end:
  const char* finish() const { return finish_; }       ///< "stop" or "length"
  const std::string& error() const { return error_; }  ///< "": there was none
  int64_t drawn() const { return drawn_; }
  int64_t found() const { return found_; }  ///< tokens of the prompt that were in the cache

 private:
  friend class ServerEngine;
  Answer(TextStream stream, std::vector<std::string> stops) : stream_(std::move(stream)), stops_(std::move(stops)) {}
  void give(const std::string& text);
  void end(const char* finish, const std::string& error = "");

  TextStream stream_;
  StopTexts stops_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_ = {}, error_ = {};
  const char* finish_ = "stop";
  bool ended_ = false;
  std::atomic<bool> cancelled_ = false;
  int64_t drawn_ = 0, found_ = 0;
};

/// What happened since the start: for /metrics.
struct ServerCounts {
  int64_t requests = 0, finished = 0, cancelled = 0, failed = 0;
  int64_t prompt_tokens = 0, found_tokens = 0, drawn_tokens = 0, steps = 0, preemptions = 0;
  double step_seconds = 0;
  int64_t running = 0, waiting = 0, free_blocks = 0, kept_blocks = 0;  ///< now
};

/// What the page draws: slots, requests with their blocks, and how many hold each block.
nlohmann::ordered_json scheduler_state(const BatchEngine& engine, const ServerCounts& counts);

/// Takes requests from any thread and steps until they have ended.
class ServerEngine {
 public:
  /// `model` outlives it. `idle`: called now and then, by the thread that steps, while nobody asks. \throws as
  /// BatchEngine
  ServerEngine(Model& model, const BatchingOptions& options, std::function<void()> idle = {});
  /// Drops what still runs.
  ~ServerEngine();

  /// `stops`: texts that end it. Returns once it is in the queue. \throws UsageError as BatchEngine::submit; Error
  /// after a failure
  std::shared_ptr<Answer> ask(Request request, TextStream stream, std::vector<std::string> stops);
  /// Nobody waits for it any more: its blocks are free after the step that runs.
  void cancel(const std::shared_ptr<Answer>& answer);

  /// A rank was lost, or there was no memory to go on, so that nobody is served any more; nothing as long as it goes
  /// on.
  std::exception_ptr failure();

  ServerCounts counts();
  /// Whether a request runs or waits.
  bool busy();
  /// scheduler_state, a step old at most; or older, where nobody asked for two seconds.
  nlohmann::ordered_json state();

 private:
  struct Arrival {
    Request request;
    std::shared_ptr<Answer> answer;
    std::promise<void> queued;
  };
  struct Ending {
    std::shared_ptr<Answer> answer;
    const char* finish;
    std::string error;
  };
  void run();
  void run_until_end();
  void submit(Arrival& arrival);
  void remove_cancelled();
  void step();
  void deliver(const DrawnToken& drawn);
  void drop_all(const std::string& says);
  void tell_endings();
  void begin_anew();
  void note();

  Model& model_;
  BatchingOptions options_;
  std::function<void()> idle_;

  // Of the thread alone:
  std::unique_ptr<BatchEngine> engine_;
  std::map<int64_t, std::shared_ptr<Answer>> answers_;  // by the id of the request
  std::vector<Ending> endings_;                         // of this step
  ServerCounts total_, earlier_;                        // earlier_: of engines before this one

  std::mutex mutex_;  // of all below
  std::condition_variable asked_;
  std::vector<Arrival> arrivals_;
  ServerCounts counts_;
  nlohmann::ordered_json state_;
  std::chrono::steady_clock::time_point watched_ = {};  // when state_ was last asked for
  std::exception_ptr failure_ = {};
  bool ends_ = false, cancels_ = false, busy_ = false;
  std::thread thread_;
};

}  // namespace rungs
