#include "rungs/grader/mistake_answers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "rungs/base/error.hpp"
#include "rungs/grader/suites.hpp"

namespace rungs {

namespace {

/// A file that is closed with this object.
struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

std::vector<Runner> mistake_runners(const Lesson& lesson) {
  std::vector<Runner> runners;
  for (const KnownMistake& m : lesson.mistakes) runners.emplace_back(lesson.mistakes_runner, m.name);
  return runners;
}

MistakeAnswers::MistakeAnswers(const Lesson& lesson) : lesson_(lesson) {
  if (lesson.has_solution())
    runners_ = mistake_runners(lesson);
  else if (std::filesystem::exists(lesson.recorded))
    read_record(lesson.recorded);
}

void MistakeAnswers::read_record(const std::filesystem::path& path) {
  const OpenFile file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) throw FileError(path.string() + " cannot be read");
  Message m;
  Answer* answer = nullptr;
  off_t whole = 0;  // bytes of the messages that were read
  while (receive(file.fd, m) == Received::message) {
    whole = lseek(file.fd, 0, SEEK_CUR);
    if (m.kind == Message::go) {
      answer = &answers_[{m.text, m.name}];
      answer->passes = m.number != 0;
      answer->with_noise.emplace();
    } else if (!answer || !take(*answer->with_noise, m)) {
      break;
    }
  }
  const off_t size = lseek(file.fd, 0, SEEK_END);
  if (size != whole)
    throw FileError(
        fmt::format("{}: wanted recorded answers of known mistakes, found something else at byte {} of {}: "
                    "take the file from the handout again",
                    path.string(), whole, size));
}

/// With its verdict, and with noise where NaN says the same.
MistakeAnswers::Answer& MistakeAnswers::judged(size_t k, const Case& c) {
  Answer& a = answer(k, c);
  if (a.passes) return a;
  Verdict v;
  if (!runners_.empty()) v = judge(runners_[k].run(c.input), c);
  a.passes = v.pass;
  if (!may_show_fresh_memory(v.outcome)) a.with_noise = std::move(v.outcome);
  return a;
}

const Outcome& MistakeAnswers::with_noise(size_t k, const Case& c) {
  std::optional<Outcome>& known = judged(k, c).with_noise;
  if (!known) known = runners_.empty() ? Outcome() : runners_[k].run(c.input.with_fresh(FreshMemory::noise));
  return *known;
}

bool MistakeAnswers::passes(size_t k, const Case& c) { return *judged(k, c).passes; }

namespace {

/// What a diagnosis may ask of an answer: every output, and the pieces of the first wrong tap up to it.
std::vector<const Recorded*> told_by(const Outcome& outcome, const Case& c) {
  std::string name;
  const ConstTensor* wrong = nullptr;
  for (const Compared& p : compare_all(outcome, c))
    if (!p.comparison.pass && !wrong) name = p.name, wrong = p.got;
  std::vector<const Recorded*> told;
  bool behind = !wrong;
  for (const Recorded& p : outcome.recording.pieces) {
    if (p.is_output || (!behind && p.name == name)) told.push_back(&p);
    behind = behind || &p.value == wrong;
  }
  return told;
}

Message ending_of(const Outcome& outcome) {
  Message m;
  m.kind = outcome.how == Outcome::done    ? Message::done
           : outcome.how == Outcome::threw ? Message::threw
                                           : Message::not_written;
  m.number = outcome.recording.linear_rows, m.text = outcome.says;
  return m;
}

bool write_answer(int fd, const std::string& mistake, bool passes, const Outcome& outcome, const Case& c) {
  Message head;
  head.kind = Message::go, head.name = c.input.name, head.text = mistake, head.number = passes;
  if (!send(fd, head)) return false;
  if (outcome.how == Outcome::died) return true;  // a crash is never compared
  for (const Recorded* p : told_by(outcome, c)) {
    Message m;
    m.kind = p->is_output ? Message::output : Message::tap, m.name = p->name, m.tensor = p->value.view();
    if (!send(fd, m)) return false;
  }
  return send(fd, ending_of(outcome));
}

/// Those of both suites, each name once.
std::vector<Case> all_cases(const Lesson& lesson) {
  std::vector<Case> cases = cases_of(lesson, Suite::evaluate);
  std::set<std::string> names;
  for (const Case& c : cases) names.insert(c.input.name);
  if (lesson.has_cache())
    for (Case& c : cases_of(lesson, Suite::kv_evaluate))
      if (names.insert(c.input.name).second) cases.push_back(std::move(c));
  return cases;
}

}  // namespace

void record_mistakes(const Lesson& lesson, const std::filesystem::path& path) {
  const OpenFile file{open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  const auto check = [&](bool fine) {
    if (!fine) throw FileError(path.string() + " cannot be written");
  };
  check(file.fd >= 0);
  const std::vector<Case> cases = all_cases(lesson);
  MistakeAnswers answers(lesson);
  for (size_t k = 0; k < lesson.mistakes.size(); ++k)
    for (const Case& c : cases)
      check(write_answer(file.fd, lesson.mistakes[k].name, answers.passes(k, c), answers.with_noise(k, c), c));
}

}  // namespace rungs
