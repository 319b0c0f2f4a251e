// What rungs serve refuses, and that it goes on.
#include "contains.hpp"
#include "serve/server.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("serve");

TEST_CASE("a request without a body is answered at once where one was wanted") {
  const Server server;
  const auto begin = std::chrono::steady_clock::now();
  const auto says = [&](const std::string& line) {
    return answer(server.port, line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  };
  for (const char* nothing : {"POST /v1/models", "DELETE /v1/models/stories", "PUT /v2"}) {
    const std::string answer = says(nothing);
    CHECK(answer == Contains("404 Not Found"));
    CHECK(answer == Contains(("there is nothing at " + std::string(nothing)).c_str()));
  }
  const std::string empty = says("POST /v1/completions");
  CHECK(empty == Contains("400 Bad Request"));
  CHECK(empty == Contains("the request has no body: wanted JSON"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));  // its patience with a body is 5 s
}

TEST_CASE("bad requests get a status and a sentence each, and the server lives") {
  const Server server;
  httplib::Client client = server.client();
  CHECK(ask(client, {{"prompt", "a"}, {"foo", 1}}, 400)["error"]["message"] ==
        "the request: \"foo\": there is no such field");
  CHECK(ask(client, {{"prompt", "a"}, {"model", "gpt"}}, 404)["error"]["code"] == "model_not_found");
  CHECK(ask(client, {{"prompt", std::string(1'000'000, 'a')}}, 400)["error"]["message"].get<std::string>() ==
        Contains("leaves no room for one more in the context of 512"));
  CHECK(ask(client, {{"prompt", std::string(9 << 20, 'a')}}, 413)["error"]["message"] ==
        "the request is larger than 8 MiB");
  CHECK(client.Post("/v1/completions", "{\"prompt\": \"\xff\"}", "application/json")->status == 400);
  const auto nothing = client.Get("/v2");
  CHECK(nothing->status == 404);
  CHECK(json::parse(nothing->body)["error"]["message"] == "there is nothing at GET /v2");
  const auto other_site = client.Get("/state", {{"Origin", "http://example.org"}});
  CHECK(other_site->status == 403);

  std::vector<int> idle;
  for (int i = 0; i < 100; ++i)
    idle.push_back(connection(server.port, i % 2 ? "" : "POST /v1/completions HTTP/1.1\r\n"));
  idle.push_back(connection(server.port, "POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{\"prompt\""));
  CHECK(ask(client, story)["choices"][0]["text"] == told);
  for (const int socket : idle) close(socket);
}

TEST_CASE("a page whose name leads to this machine by DNS is no friend") {
  const Server server;
  for (const char* host : {"evil.example", "evil.example:80", "localhost.evil.example"}) {
    const auto result = server.client().Get("/state", {{"Host", host}});
    REQUIRE(result);
    CHECK(result->status == 403);
  }
  for (const char* host : {"localhost", "localhost:8080", "[::1]:80", "127.0.0.1"})
    CHECK(server.client().Get("/state", {{"Host", host}})->status == 200);
}

TEST_CASE("a refusal ends its connection: neither its body nor what comes behind it is taken for a request") {
  const Server unlocked, locked({"--api-key", "sesame"});
  const std::string next = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string body = std::string(10'000, 'x') + "\r\n" + next;  // more than cpp-httplib reads at once
  const auto refused = [&](const Server& server, const std::string& request, const char* status) {
    CAPTURE(request);
    const std::string text =
        answer(server.port, request + "\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
                                "\r\n\r\n" + body + next);
    CHECK(text == Contains(status));
    CHECK(text == Contains("\r\nConnection: close\r\n"));
    CHECK(text == Contains("\"message\":"));
    CHECK(text.find("Keep-Alive") == std::string::npos);
    CHECK(text.rfind("HTTP/1.1 ") == 0);  // one answer
  };
  const std::string completions = "POST /v1/completions HTTP/1.1", evil = "\r\nOrigin: http://evil.example";
  refused(unlocked, completions + evil, "403 Forbidden");
  refused(unlocked, "POST /state HTTP/1.1" + evil, "403 Forbidden");
  refused(unlocked, completions, "400 Bad Request");
  refused(unlocked, completions + "\r\nContent-Type: multipart/form-data; boundary=x", "400 Bad Request");
  refused(locked, completions, "401 Unauthorized");
  refused(locked, "PUT /v2 HTTP/1.1", "401 Unauthorized");
}

TEST_CASE("with a key nobody is served without it") {
  const Server server({"--api-key", "sesame"});
  httplib::Client client = server.client();
  CHECK(ask(client, story, 401)["error"]["code"] == "invalid_api_key");
  CHECK(client.Get("/metrics")->status == 401);
  ask(client, {{"prompt", std::string(4 << 20, 'a')}}, 401);  // also where it takes long to send
  CHECK(client.Get("/health")->status == 200);
  client.set_bearer_token_auth("sesam");
  ask(client, story, 401);
  client.set_bearer_token_auth("sesame");
  CHECK(ask(client, story)["choices"][0]["text"] == told);
}

TEST_SUITE_END();
