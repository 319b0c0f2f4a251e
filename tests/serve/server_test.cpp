// rungs serve itself, asked over HTTP.
#include "serve/server.hpp"

#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "contains.hpp"
#include "rungs/base/shell.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("serve");

TEST_CASE("a completion, whole and streamed, is what rungs generate tells") {
  const Server server;
  httplib::Client client = server.client();
  const json whole = ask(client, story);
  CHECK(whole["choices"][0]["text"] == told);
  CHECK(whole["choices"][0]["finish_reason"] == "length");
  CHECK(whole["usage"]["completion_tokens"] == 12);

  json streamed = story;
  streamed["stream"] = true;
  const auto result = client.Post("/v1/completions", streamed.dump(), "application/json");
  REQUIRE(result);
  CHECK(result->get_header_value("Content-Type") == "text/event-stream");
  CHECK(result->body.ends_with("data: [DONE]\n\n"));
  std::string text;
  for (size_t at = 0; (at = result->body.find("data: {", at)) != std::string::npos; ++at)
    text += json::parse(result->body.substr(at + 6, result->body.find('\n', at) - at - 6))["choices"][0]["text"];
  CHECK(text == told);

  const json chat = ask(client, {{"messages", {{{"role", "user"}, {"content", "Tell a story."}}}}, {"max_tokens", 3}},
                        200, "/v1/chat/completions");
  CHECK(chat["choices"][0]["message"]["role"] == "assistant");
  CHECK(json::parse(client.Get("/v1/models")->body)["data"][0]["id"] == "stories");
  CHECK(client.Get("/health")->status == 200);
  CHECK(client.Get("/")->body == Contains("Blocks of the KV cache"));
  CHECK(json::parse(client.Get("/state")->body)["slots"] == 16);
}

TEST_CASE("with --backend cuda, here emulated, clients at once get the same texts from a paged cache on the device") {
  const Server server({"--slots", "4", "--backend", "cuda", "--on", "emulator", "--max-tokens-in-flight", "256"});
  std::vector<std::thread> clients;
  std::vector<std::string> texts(3);
  for (std::string& text : texts)
    clients.emplace_back([&server, &text] {
      httplib::Client client = server.client();
      text = ask(client, story)["choices"][0]["text"];
    });
  for (std::thread& client : clients) client.join();
  for (const std::string& text : texts) CHECK(text == told);
}

TEST_CASE("a signal ends a server at any time of its start, also while it allocates its cache") {
  const auto starts_for = [](double seconds, const char* tokens) {
    const std::string command = "timeout -k 5 " + std::to_string(seconds) +
                                " '" RUNGS_COMMAND "' serve --port 0 --max-tokens-in-flight " + tokens + " >/dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  constexpr int ended = 124;                   // as timeout says it; 137: it had to be killed
  CHECK(starts_for(0.5, "1000000") == ended);  // which are allocated in seconds
  const auto begin = std::chrono::steady_clock::now();
  { const Server server({"--max-tokens-in-flight", "20000"}); }
  const std::chrono::duration<double> start = std::chrono::steady_clock::now() - begin;
  for (int i = 0; i < 16; ++i) {
    CAPTURE(i);
    CHECK(starts_for(start.count() * (0.2 + 0.07 * i), "20000") == ended);
  }
}

TEST_CASE("a chat that does not say how long it may be gets what a cache smaller than the context can hold") {
  const Server server({"--max-tokens-in-flight", "64"});
  httplib::Client client = server.client();
  json chat = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}, {"ignore_eos", true}, {"temperature", 0}};
  const json answer = ask(client, chat, 200, "/v1/chat/completions");
  CHECK(answer["usage"]["completion_tokens"].get<int>() > 0);
  CHECK(answer["usage"]["total_tokens"].get<int>() <= 65);
  chat["max_tokens"] = 100;
  CHECK(ask(client, chat, 400, "/v1/chat/completions")["error"]["message"].get<std::string>() ==
        Contains("and 100 more never fit into the cache, which holds 64"));
}

TEST_CASE("an IPv6 address stands in brackets in the URL") {
  if (httplib::Server().bind_to_any_port("::1") < 0) {
    MESSAGE("SKIPPED: this machine has no IPv6");
    return;
  }
  const Server server({"--host", "::1"});
  CHECK(server.url == "http://[::1]:" + std::to_string(server.port));
  CHECK(httplib::Client("::1", server.port).Get("/health")->status == 200);
}

TEST_CASE("the one model can be asked for by its name") {
  const Server server;
  httplib::Client client = server.client();
  const auto found = client.Get("/v1/models/stories");
  CHECK(found->status == 200);
  CHECK(json::parse(found->body) == json::parse(client.Get("/v1/models")->body)["data"][0]);
  const auto other = client.Get("/v1/models/" + std::string(5000, 'a'));
  CHECK(other->status == 404);
  CHECK(json::parse(other->body)["error"]["code"] == "model_not_found");
}

TEST_CASE("64 clients at once each get their text, and a long prompt that they share is found in the cache") {
  const Server server({"--slots", "8"});
  std::string prompt;
  for (int i = 0; i < 12; ++i) prompt += "Once upon a time, there was a little girl. ";
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  std::string wanted;
  {
    httplib::Client client = server.client();
    wanted = ask(client, {{"prompt", prompt}, {"max_tokens", 8}, {"temperature", 0}})["choices"][0]["text"];
  }
  for (int i = 0; i < 64; ++i)
    threads.emplace_back([&] {
      httplib::Client client = server.client();
      const json body = {{"prompt", prompt}, {"max_tokens", 8}, {"temperature", 0}};
      const auto result = client.Post("/v1/completions", body.dump(), "application/json");
      if (result && result->status == 200 && json::parse(result->body)["choices"][0]["text"] == wanted) ++right;
    });
  for (std::thread& t : threads) t.join();
  CHECK(right == 64);
  CHECK(server.count("requests_finished_total") == 65);
  CHECK(server.count("prompt_tokens_found_total") > 64 * 100);
}

TEST_CASE("a client that goes away frees its slot, streaming or not, and one that reads slowly holds up nobody") {
  const Server server({"--slots", "2"});
  const auto body = [](bool stream) {
    const json j = {{"prompt", "Once"}, {"max_tokens", 500}, {"temperature", 1}, {"seed", 4}, {"stream", stream}};
    return "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(j.dump().size()) + "\r\n\r\n" + j.dump();
  };
  const int slow = connection(server.port, body(true));
  for (int i = 0; i < 6; ++i) close(connection(server.port, body(i % 2)));
  httplib::Client client = server.client();
  CHECK(ask(client, story)["choices"][0]["text"] == told);
  close(slow);
  CHECK(server.comes_to([&] { return server.ended() == 8; }));
  CHECK(server.count("requests_total") == 8);
  CHECK(server.count("blocks_free") == 2 * 512 / 64);
}

TEST_CASE("a client that waits for the whole text and goes away is cancelled, though nothing was to be sent") {
  const Server server({"--slots", "1", "--max-tokens-in-flight", "512"});
  const auto body = [](int seed) {
    const json j = {{"prompt", "Once"}, {"max_tokens", 500}, {"temperature", 2}, {"seed", seed}};
    return "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(j.dump().size()) + "\r\n\r\n" + j.dump();
  };
  std::vector<int> waiting;
  for (int i = 0; i < 40; ++i) waiting.push_back(connection(server.port, body(i)));
  CHECK(server.comes_to([&] { return server.count("requests_total") == 40; }));
  for (const int socket : waiting) close(socket);
  CHECK(server.comes_to([&] { return server.ended() == 40; }));
  CHECK(server.count("requests_cancelled_total") > 0);
}

TEST_CASE(
    "a thousand connections that send nothing hold up nobody, and a body without a length is no way around the limit") {
  const Server server;
  std::vector<int> idle;
  rlimit files{};  // of this process
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  for (int i = 0; i < 1000; ++i) idle.push_back(connection(server.port, ""));
  httplib::Client client = server.client();
  client.set_read_timeout(20);
  CHECK(ask(client, story)["choices"][0]["text"] == told);
  for (const int socket : idle) close(socket);

  const std::string megabyte(1 << 20, ' ');
  int sent = 0;
  const auto chunked = client.Post(
      "/v1/completions",
      [&](size_t, httplib::DataSink& sink) {
        if (!sink.write(megabyte.data(), megabyte.size())) return false;
        if (++sent == 9) sink.done();
        return true;
      },
      "application/json");
  REQUIRE(chunked);
  CHECK(chunked->status == 413);
  CHECK(json::parse(chunked->body)["error"]["message"] == "the request is larger than 8 MiB");
  httplib::Client another = server.client();
  CHECK(another.Get("/health")->status == 200);
}

TEST_CASE("a model whose folder has a name that is no UTF-8 is served, streaming or not") {
  const Folder folder;
  const std::filesystem::path model = folder.path() / "mod\xe9le";
  std::filesystem::copy(weights_directory() / "stories", model, std::filesystem::copy_options::recursive);
  Server server({"--model", model.string()});
  for (const char* stream : {"false", "true"}) {
    const auto result = server.client().Post(
        "/v1/completions", fmt::format(R"({{"prompt": "Once", "max_tokens": 2, "stream": {}}})", stream),
        "application/json");
    REQUIRE(result);
    CHECK(result->status == 200);
    CHECK(result->body == Contains("mod\uFFFDle"));
  }
  REQUIRE(server.client().Get("/state"));
}

TEST_CASE("what a request does not say of the draws is as generation_config.json has it") {
  const Folder folder;
  const std::filesystem::path model = folder.path() / "stories";
  std::filesystem::copy(weights_directory() / "stories", model, std::filesystem::copy_options::recursive);
  write_file(model / "generation_config.json", R"({"eos_token_id": 1, "do_sample": true, "temperature": 0})");
  const Server server({"--model", model.string()});
  httplib::Client client = server.client();
  for (int seed = 0; seed < 4; ++seed) {
    const json asked = {{"prompt", "Once upon a time"}, {"max_tokens", 12}, {"seed", seed}};
    CHECK(ask(client, asked)["choices"][0]["text"] == told);
  }
}

TEST_CASE("a client that sends its request a byte at a time does not keep a server from ending") {
  Server server;
  const int client = connection(server.port, "GET /health HTTP/1.1\r\nX: ");
  const auto began = std::chrono::steady_clock::now();
  std::thread drip([client] {
    for (const char c : std::string(30, 'x')) {
      if (send(client, &c, 1, MSG_NOSIGNAL) < 0) return;
      sleep(1);
    }
  });
  sleep(1);
  server.signal(SIGTERM);
  CHECK(server.status() == 0);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
  drip.join();
  close(client);
}

TEST_CASE("Ctrl-C finishes what runs, and a port that is taken or an address for others without a key is refused") {
  Server server;
  const auto fails = [](const std::string& options) {
    const Folder folder;
    const int status =
        std::system(("'" RUNGS_COMMAND "' serve " + options + " 2>" + (folder / "err").string()).c_str());
    CHECK(WEXITSTATUS(status) == 2);
    return read_text(folder / "err");
  };
  CHECK(fails("--port " + std::to_string(server.port)) == Contains("is another server there? --port 0 takes any"));
  CHECK(fails("--host 0.0.0.0") == Contains("--host 0.0.0.0 is heard by other machines: say --api-key KEY, too"));
  CHECK(fails("--host ''") == Contains("--host: wanted an address of this machine, such as 127.0.0.1, found none"));
  CHECK(
      fails("--host 999.1.1.1 --port 0 --api-key a") ==
      Contains("--host 999.1.1.1: wanted an address of this machine, such as 127.0.0.1, ::1 or 0.0.0.0, or its name"));
  CHECK(fails("--port 70000") == Contains("--port: wanted 0 (any that is free) to 65535, found 70000"));
  for (const char* chunk : {"0", "257"})
    CHECK(fails("--chunk " + std::string(chunk)) ==
          Contains(
              ("--chunk: wanted 1 to 256, which is the most that a step feeds, found " + std::string(chunk)).c_str()));
  CHECK(fails("--context 513") == Contains("--context: wanted 1 to 512"));

  std::thread asks([&] {
    httplib::Client client = server.client();
    json longer = story;
    longer["max_tokens"] = 400, longer["temperature"] = 1, longer["seed"] = 8;
    const auto result = client.Post("/v1/completions", longer.dump(), "application/json");
    CHECK((result && json::parse(result->body).contains("choices")));
  });
  CHECK(server.comes_to([&] { return server.count("requests_total") > 0; }));
  server.signal(SIGINT);
  asks.join();
  CHECK(server.status() == 0);
}

TEST_CASE("bench serve --peer gives another server the same requests") {
  Server server({"--slots", "4"});
  const Folder folder;
  const std::string command = "'" RUNGS_COMMAND "' bench serve --requests 6 --slots 4 --json --peer http://127.0.0.1:" +
                              std::to_string(server.port) + " >" + (folder / "out").string();
  CHECK(std::system(command.c_str()) == 0);
  const json modes = json::parse(read_text(folder / "out"))["modes"];
  REQUIRE(modes.size() == 4);
  CHECK(modes[3]["mode"] == "the peer, over HTTP");
  CHECK(modes[3]["tokens_per_second"] > 0);
  CHECK(server.count("requests_finished_total") == 6);
}

TEST_CASE("bench serve --peer takes what other servers say, and says what is no completion") {
  const std::string end = "data: [DONE]\n\n";
  const auto measure = [&](const std::string& events, std::string& printed) {
    httplib::Server peer;
    std::atomic<int> asked = 0;
    peer.Post("/v1/completions", [&](const httplib::Request&, httplib::Response& answer) {
      ++asked;
      answer.set_content(events + end, "text/event-stream");
    });
    const int port = peer.bind_to_any_port("127.0.0.1");
    std::thread listens([&] { peer.listen_after_bind(); });
    const Ran ran = run_command("'" RUNGS_COMMAND "' bench serve --requests 3 --json --peer http://127.0.0.1:" +
                                std::to_string(port) + " 2>&1");
    peer.stop();
    listens.join();
    CHECK(asked == 3);
    printed = ran.output;
    return ran.status;
  };
  const auto event = [](const std::string& json) { return "data: " + json + "\n\n"; };
  std::string printed;
  // one that does not say how many tokens of the prompt it found, and one that says no usage with each token
  CHECK(measure(event(R"({"choices": [{"text": "a"}]})") + event(R"({"usage": {"completion_tokens": 1}})"), printed) ==
        0);
  CHECK(json::parse(printed)["modes"][3]["prompt_tokens_found"] == 0);
  CHECK(measure(event(R"({"choices": [{"text": "a"}], "usage": null})") +
                    event(R"({"choices": [], "usage": {"completion_tokens": 1}})"),
                printed) == 0);
  CHECK(json::parse(printed)["modes"][3]["tokens_per_second"] > 0);

  CHECK(measure(event("{broken"), printed) == 1);
  CHECK(printed == Contains("wanted an event of a completion, found {broken"));
  CHECK(measure(event(R"({"choices": 7, "usage": {"tokens": 1}})"), printed) == 1);
  CHECK(printed == Contains("wanted an event of a completion, found {\"choices\": 7"));
}

TEST_CASE("bench serve --clients loses no request of a server that lives, watches its memory, and sees one that dies") {
  Server server({"--slots", "4"});
  const Folder folder;
  const auto soak = [&](const std::string& options) {
    return std::system(("'" RUNGS_COMMAND "' bench serve --http http://127.0.0.1:" + std::to_string(server.port) +
                        " --clients 12 --json " + options + " >" + (folder / "out").string() + " 2>" +
                        (folder / "err").string())
                           .c_str());
  };
  CHECK(WEXITSTATUS(soak("--minutes 0.05")) == 0);
  const json quiet = json::parse(read_text(folder / "out"));
  CHECK(quiet["lost"] == 0);
  CHECK(quiet["answered"] >= 12);  // each client got one answer at least
  CHECK(quiet["answered"] == server.count("requests_finished_total"));
  CHECK(quiet["between_tokens_p50"] > 0);
  CHECK(double(quiet["between_tokens_p99_over_p50"]) ==
        doctest::Approx(double(quiet["between_tokens_p99"]) / double(quiet["between_tokens_p50"])));
  for (const char* when : {"start", "warm", "end"}) {
    CHECK(quiet["server_memory"][when] > 10 << 20);
    CHECK(quiet["server_memory"][when] <= quiet["server_memory"]["most"]);
  }

  std::thread kills([&] {
    usleep(1'000'000);
    server.signal(SIGKILL);
  });
  CHECK(WEXITSTATUS(soak("--minutes 0.05")) == 1);
  kills.join();
  const json lost = json::parse(read_text(folder / "out"));
  CHECK(lost["lost"] >= 12);
  CHECK(!lost["lost_because"].empty());
  CHECK(WEXITSTATUS(soak("")) == 1);  // nobody is there
  CHECK(read_text(folder / "err") == Contains("nothing answers there"));
}

TEST_CASE("bench serve says that nobody answers before it measures anything") {
  const Folder folder;
  for (const char* option : {"--http", "--peer"}) {
    const std::string command = "'" RUNGS_COMMAND "' bench serve " + std::string(option) + " http://127.0.0.1:9 >" +
                                (folder / "out").string() + " 2>" + (folder / "err").string();
    CHECK(WEXITSTATUS(std::system(command.c_str())) == 1);
    CHECK(read_text(folder / "out").empty());
    const std::string wanted = "http://127.0.0.1:9: nothing answers there (" +
                               httplib::to_string(httplib::Error::Connection) +  // in its version's own words
                               "): is the server running? `rungs serve` prints its URL";
    CHECK(read_text(folder / "err") == Contains(wanted.c_str()));
  }
}

TEST_SUITE_END();
