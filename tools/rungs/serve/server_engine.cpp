#include "server_engine.hpp"

#include <omp.h>

#include "rungs/ops/cpu_ops.hpp"
#include "rungs/parallel/communicator.hpp"

namespace rungs {

using nlohmann::ordered_json;
using namespace std::chrono_literals;

std::pair<std::string, bool> Answer::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, 100ms, [&] { return ended_ || !text_.empty(); });
  return {std::exchange(text_, ""), ended_};
}

void Answer::give(const std::string& text) {
  if (text.empty()) return;
  const std::lock_guard lock(mutex_);
  text_ += text;
  changed_.notify_one();
}

void Answer::end(const char* finish, const std::string& error) {
  const std::lock_guard lock(mutex_);
  finish_ = finish, error_ = error, ended_ = true;
  changed_.notify_one();
}

ServerEngine::ServerEngine(Model& model, const BatchingOptions& options, std::function<void()> idle)
    : model_(model), options_(options), idle_(std::move(idle)) {
  begin_anew();
  thread_ = std::thread([this, threads = omp_get_max_threads()] {
    use_threads(threads);  // a number that each thread has for itself
    run();
  });
}

ServerEngine::~ServerEngine() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  asked_.notify_one();
  thread_.join();
}

std::shared_ptr<Answer> ServerEngine::ask(Request request, TextStream stream, std::vector<std::string> stops) {
  std::shared_ptr<Answer> answer(new Answer(std::move(stream), std::move(stops)));
  std::future<void> queued;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) throw Error("the server ends");
    arrivals_.push_back({std::move(request), answer, {}});
    queued = arrivals_.back().queued.get_future();
    busy_ = true;
  }
  asked_.notify_one();
  queued.get();
  return answer;
}

void ServerEngine::cancel(const std::shared_ptr<Answer>& answer) {
  answer->cancelled_ = true;
  {
    const std::lock_guard lock(mutex_);
    cancels_ = true;
  }
  asked_.notify_one();
}

ServerCounts ServerEngine::counts() {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::exception_ptr ServerEngine::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool ServerEngine::busy() {
  const std::lock_guard lock(mutex_);
  return busy_;
}

ordered_json ServerEngine::state() {
  const std::lock_guard lock(mutex_);
  watched_ = std::chrono::steady_clock::now();
  return state_;
}

void ServerEngine::run() {
  std::string says = "the server ends";
  std::exception_ptr failure;
  try {
    run_until_end();
  } catch (const std::exception& e) {
    says = e.what(), failure = std::current_exception();
  }
  drop_all(says);
  tell_endings();
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  for (Arrival& arrival : arrivals_) arrival.queued.set_exception(std::make_exception_ptr(Error(says)));
  arrivals_.clear();
}

/// \throws RankLost: without that rank there is no model; std::bad_alloc when there is no memory for a new cache
void ServerEngine::run_until_end() {
  while (true) {
    std::vector<Arrival> arrivals;
    {
      std::unique_lock lock(mutex_);
      asked_.wait_for(lock, 500ms, [&] { return ends_ || cancels_ || !arrivals_.empty() || !engine_->idle(); });
      if (ends_) return;
      arrivals.swap(arrivals_);
      cancels_ = false;
    }
    for (Arrival& arrival : arrivals) submit(arrival);
    remove_cancelled();
    std::optional<std::string> failed;
    try {
      if (!engine_->idle())
        step();
      else if (idle_)
        idle_();
    } catch (const RankLost&) {
      throw;
    } catch (const std::bad_alloc&) {
      failed = "the server has not enough memory for what it was asked at once";
    } catch (const std::exception& e) {
      failed = e.what();
    }
    if (failed) drop_all(*failed), begin_anew();
    note();
    tell_endings();
  }
}

void ServerEngine::submit(Arrival& arrival) {
  ++total_.requests;
  try {
    answers_[engine_->submit(std::move(arrival.request))] = arrival.answer;
    arrival.queued.set_value();
  } catch (...) {
    ++total_.failed;
    arrival.queued.set_exception(std::current_exception());
  }
}

void ServerEngine::remove_cancelled() {
  for (auto it = answers_.begin(); it != answers_.end();) {
    if (!it->second->cancelled_) {
      ++it;
      continue;
    }
    engine_->cancel(it->first);
    endings_.push_back({it->second, "stop", ""});
    ++total_.cancelled;
    it = answers_.erase(it);
  }
}

void ServerEngine::step() {
  const auto before_drawn = [&](int64_t id, int64_t, std::span<const float>) {
    answers_.at(id)->found_ = engine_->scheduler().requests().at(id).found;
  };
  for (const DrawnToken& drawn : engine_->step(before_drawn)) deliver(drawn);
}

void ServerEngine::deliver(const DrawnToken& drawn) {
  Answer& answer = *answers_.at(drawn.id);
  ++answer.drawn_;
  if (drawn.finish != Finish::stop) answer.give(answer.stops_.add(answer.stream_.next(drawn.token)));
  if (drawn.finish == Finish::no && !answer.stops_.found()) return;
  const bool full = drawn.finish == Finish::length && !answer.stops_.found();
  if (!answer.stops_.found()) answer.give(answer.stops_.add(answer.stream_.end()) + answer.stops_.rest());
  if (drawn.finish == Finish::no) engine_->cancel(drawn.id);
  endings_.push_back({answers_.at(drawn.id), full ? "length" : "stop", ""});
  answers_.erase(drawn.id);
  ++total_.finished;
}

void ServerEngine::drop_all(const std::string& says) {
  for (auto& [id, answer] : answers_) endings_.push_back({answer, "stop", says});
  total_.failed += int64_t(answers_.size());
  answers_.clear();
}

/// After note(): whoever has its whole text finds it in the counts.
void ServerEngine::tell_endings() {
  for (const Ending& e : endings_) e.answer->end(e.finish, e.error);
  endings_.clear();
}

/// What a step left that threw is of no more use.
void ServerEngine::begin_anew() {
  if (engine_) note(), earlier_ = total_;
  engine_.reset();
  engine_ = std::make_unique<BatchEngine>(model_, options_);
}

/// For whoever asks how it goes.
void ServerEngine::note() {
  const Scheduler& s = engine_->scheduler();
  const BatchStats& stats = engine_->stats();
  total_.prompt_tokens = earlier_.prompt_tokens + s.prompt_tokens();
  total_.found_tokens = earlier_.found_tokens + s.found_tokens();
  total_.drawn_tokens = earlier_.drawn_tokens + stats.drawn;
  total_.steps = earlier_.steps + stats.steps;
  total_.step_seconds = earlier_.step_seconds + stats.seconds;
  total_.preemptions = earlier_.preemptions + s.preemptions();
  total_.running = int64_t(s.running().size()), total_.waiting = int64_t(s.waiting().size());
  total_.free_blocks = s.pool().free(), total_.kept_blocks = s.pool().kept();

  const std::lock_guard lock(mutex_);
  counts_ = total_;
  busy_ = !engine_->idle() || !arrivals_.empty();
  if (std::chrono::steady_clock::now() - watched_ < 2s || state_.is_null()) state_ = scheduler_state(*engine_, total_);
}

ordered_json scheduler_state(const BatchEngine& engine, const ServerCounts& counts) {
  const Scheduler& s = engine.scheduler();
  ordered_json requests = ordered_json::array();
  for (const auto& [id, r] : s.requests())
    requests.push_back({{"id", id},
                        {"slot", r.slot},
                        {"prompt", r.request.prompt.size()},
                        {"found", std::max<int64_t>(0, r.found)},
                        {"computed", r.computed},
                        {"drawn", r.drawn()},
                        {"max_tokens", r.request.max_tokens},
                        {"blocks", r.blocks}});
  ordered_json holders = ordered_json::array(), kept = ordered_json::array();
  for (int32_t b = 0; b < s.pool().blocks(); ++b) {
    holders.push_back(s.pool().holders(b));
    if (holders.back() == 0 && s.pool().findable(b)) kept.push_back(b);
  }
  return {{"slots", s.options().max_running},
          {"block_size", s.options().block_size},
          {"holders", holders},
          {"kept", kept},
          {"requests", requests},
          {"steps", counts.steps},
          {"drawn", counts.drawn_tokens},
          {"found", counts.found_tokens},
          {"preemptions", counts.preemptions}};
}

}  // namespace rungs
