// How fast each kind of tokenizer encodes, on one core.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <random>

#include "benchmark.hpp"
#include "rungs/base/file.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

using namespace rungs;

namespace {

/// English words in sentences, with numbers and line ends now and then.
std::string text_of(size_t bytes) {
  static const std::vector<std::string> words = {
      "the",  "little", "girl",    "named",     "Lily",     "went",       "to",    "park",           "and",    "found",
      "a",    "shiny",  "red",     "ball",      "under",    "tree",       "she",   "wanted",         "play",   "with",
      "it's", "friend", "because", "beautiful", "morning",  "understand", "2024",  "transformation", "of",     "in",
      "was",  "that",   "their",   "house",     "question", "remember",   "don't", "yellow",         "Tuesday"};
  std::mt19937 random(1);
  std::string text;
  while (text.size() < bytes) {
    text += words[random() % words.size()];
    text += random() % 12 ? " " : random() % 4 ? ". " : ".\n";
  }
  text.resize(bytes);
  return text;
}

/// One word: no white space anywhere.
std::string word_of(size_t bytes) {
  std::string word;
  for (const char c : text_of(2 * bytes))
    if (c >= 'a' && c <= 'z') word += c;
  word.resize(bytes);
  return word;
}

/// Seconds of processor time that the median of the runs takes: encoding keeps one core busy, and others may be too.
double seconds_of(const std::function<void()>& work, int runs) {
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) {
    const std::clock_t start = std::clock();
    work();
    seconds.push_back(double(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return median(seconds);
}

}  // namespace

int main(int argc, char** argv) try {
  Benchmark benchmark("tokenize", "MB of text a second that each kind of tokenizer encodes");
  std::vector<std::filesystem::path> more;
  benchmark.takes("PATH", more, "further tokenizers");
  benchmark.read(argc, argv);
  const std::vector<std::pair<std::string, std::string>> texts = {{"1 KB", text_of(1 << 10)},
                                                                  {"100 KB", text_of(100 << 10)},
                                                                  {"10 MB", text_of(10 << 20)},
                                                                  {"a word of 1 MB", word_of(1 << 20)}};
  std::vector<std::filesystem::path> paths;
  for (const char* name : {"sentencepiece", "tiktoken", "bytelevel", "fallback"})
    paths.push_back(weights_directory() / "tokenizers" / name);
  paths.insert(paths.end(), more.begin(), more.end());
  fmt::print("MB of text a second of one core\n{:<28}", "");
  for (const auto& [name, text] : texts) fmt::print("  {:>14}", name);
  fmt::print("\n");
  nlohmann::ordered_json figures;
  for (const std::filesystem::path& path : paths) {
    const auto tokenizer = load_tokenizer(path);
    const std::string kind = path.filename();
    fmt::print("{:<28}", kind);
    for (const auto& [name, text] : texts) {
      size_t tokens = 0;
      const int runs_at_once = text.size() < 10000 ? 100 : 1;
      constexpr int runs = 5;
      const double seconds = seconds_of(
          [&, &encoded = text] {
            for (int i = 0; i < runs_at_once; ++i) tokens = tokenizer->encode(encoded).size();
          },
          runs);
      const double speed = double(text.size()) * runs_at_once / seconds * 1e-6;
      fmt::print("  {:>14.1f}", speed);
      figures[kind][name] = {{"megabytes_per_second", speed}, {"tokens", tokens}, {"runs", runs}};
    }
    fmt::print("\n");
  }
  benchmark.write({{"encode", figures}});
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "tokenize: {}\n", e.what());
  return 1;
}
