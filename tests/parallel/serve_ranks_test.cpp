// `rungs serve --tensor-parallel` as a user runs it, under mpirun, asked over HTTP.
#include <fstream>
#include <sstream>
#include <thread>

#include "contains.hpp"
#include "serve/server.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("mpi");

namespace {

/// Without MPI there is nothing to ask; what the program says then is tested beside `generate`.
bool no_server() {
  if (!RUNGS_HAS_MPI) MESSAGE("SKIPPED: there is no MPI here");
  return !RUNGS_HAS_MPI;
}

/// A server of two processes, which have written their numbers down.
class TwoRanks {
 public:
  explicit TwoRanks(std::vector<std::string> options = {})
      : server(with(std::move(options), {"--tensor-parallel"}),
               {"env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "ASAN_OPTIONS=detect_leaks=0",
                "mpirun", "--oversubscribe", "-n", "2", "sh", "-c",
                "echo $$ >" + folder_.path().string() + "/$OMPI_COMM_WORLD_RANK; exec \"$0\" \"$@\""}) {}
  pid_t pid(int rank) const { return std::stoi(read_text(folder_ / std::to_string(rank))); }
  std::string program(int rank) const {
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid(rank)) + "/exe").filename();
  }
  bool lives(int rank) const { return kill(pid(rank), 0) == 0; }
  /// Whether mpirun ends by itself before so many seconds have passed.
  bool ends_within(double seconds) {
    for (int i = 0; i < int(seconds * 100); ++i, usleep(10'000))
      if (kill(pid(0), 0) != 0 && kill(pid(1), 0) != 0) return true;
    return false;
  }

 private:
  static std::vector<std::string> with(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  Folder folder_;

 public:
  Server server;
};

/// Seconds of processor time that a process has used.
double processor_seconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));  // from the third field on
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / double(sysconf(_SC_CLK_TCK));
}

doctest::Contains containing(const std::string& part) { return doctest::Contains(part.c_str()); }

json sampled(int i) {
  return {{"prompt", "Once upon a time, there was a girl. She liked to play in the park with her friends every day."},
          {"max_tokens", 20 + i},
          {"temperature", 1},
          {"seed", i}};
}

}  // namespace

TEST_CASE("two ranks serve the texts of one, to many at once, are quiet while nobody asks, and end together") {
  if (no_server()) return;
  constexpr int clients = 12;
  std::vector<std::string> wanted, got(clients);
  {
    const Server alone;
    httplib::Client client = alone.client();
    for (int i = 0; i < clients; ++i) wanted.push_back(ask(client, sampled(i))["choices"][0]["text"]);
  }
  TwoRanks ranks({"--slots", "3", "--max-tokens-in-flight", "512", "--block-size", "16"});  // the prompts share some
  {
    httplib::Client client = ranks.server.client();
    CHECK(ask(client, story)["choices"][0]["text"] == told);
    CHECK(ask(client, {{"prompt", "a"}, {"foo", 1}}, 400)["error"]["message"] ==
          "the request: \"foo\": there is no such field");
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i)
    threads.emplace_back([&, i] {
      httplib::Client client = ranks.server.client();
      const auto result = client.Post("/v1/completions", sampled(i).dump(), "application/json");
      if (result && result->status == 200) got[size_t(i)] = json::parse(result->body)["choices"][0]["text"];
    });
  for (std::thread& t : threads) t.join();
  CHECK(got == wanted);
  CHECK(ranks.server.count("prompt_tokens_found_total") > 0);

  sleep(1);
  const double before[] = {processor_seconds(ranks.pid(0)), processor_seconds(ranks.pid(1))};
  sleep(2);
  for (const int rank : {0, 1}) CHECK(processor_seconds(ranks.pid(rank)) - before[rank] < 0.6);  // 30% of a processor

  kill(ranks.pid(0), SIGINT);
  CHECK(ranks.ends_within(10));
  CHECK(ranks.server.status() == 0);
}

TEST_CASE("two ranks with kernels serve the text of one") {
  if (no_server()) return;
  json long_prompt = sampled(0);
  long_prompt["temperature"] = 0;
  std::string wanted;
  {
    const Server alone;
    httplib::Client client = alone.client();
    wanted = ask(client, long_prompt)["choices"][0]["text"];
  }
  TwoRanks ranks(
      {"--backend", "cuda", "--on", "emulator", "--slots", "3", "--max-tokens-in-flight", "512", "--block-size", "16"});
  for (const int rank : {0, 1}) CHECK(ranks.program(rank) == "rungs_emulator");
  httplib::Client client = ranks.server.client();
  CHECK(ask(client, story)["choices"][0]["text"] == told);
  for (int i = 0; i < 2; ++i) CHECK(ask(client, long_prompt)["choices"][0]["text"] == wanted);
  CHECK(ranks.server.count("prompt_tokens_found_total") > 0);
  kill(ranks.pid(0), SIGINT);
  CHECK(ranks.ends_within(10));
  CHECK(ranks.server.status() == 0);
}

TEST_CASE("a rank of a server that is stopped or killed ends the others within seconds, and a sentence names it") {
  if (no_server()) return;
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    TwoRanks stopped({"--rank-timeout", "2"});
    kill(stopped.pid(rank), SIGSTOP);
    CHECK(stopped.ends_within(15));
    CHECK(stopped.server.status() != 0);
    CHECK(stopped.server.said() == containing("rungs: rank " + std::to_string(rank) + " has not answered for 2 s"));
    TwoRanks killed;
    kill(killed.pid(rank), SIGKILL);
    CHECK(killed.ends_within(10));
    CHECK(killed.server.status() != 0);
    CHECK(killed.server.said() == containing("process rank " + std::to_string(rank)));
  }
}

TEST_CASE("a client whose text is being made hears of a rank that is lost") {
  if (no_server()) return;
  TwoRanks ranks({"--rank-timeout", "2"});
  json endless = {{"prompt", "Once"}, {"max_tokens", 500}, {"temperature", 2},
                  {"seed", 1},        {"stream", true},    {"ignore_eos", true}};
  std::string heard;
  std::thread client([&] {  // one text may be over before anybody looks, so it asks for one after the other
    httplib::Client c = ranks.server.client();
    while (const auto result = c.Post("/v1/completions", endless.dump(), "application/json")) {
      heard = result->body;
      if (heard == Contains("\"error\"")) break;
    }
  });
  CHECK(ranks.server.comes_to([&] { return ranks.server.count("drawn_tokens_total") > 5; }));
  kill(ranks.pid(1), SIGSTOP);
  client.join();
  CHECK(heard == Contains("rank 1 has not answered for 2 s"));
  CHECK(ranks.ends_within(15));
}

TEST_CASE("Ctrl-C at mpirun ends all ranks of a server") {
  if (no_server()) return;
  TwoRanks ranks;
  ranks.server.signal(SIGINT);
  CHECK(ranks.ends_within(10));
}

TEST_SUITE_END();
