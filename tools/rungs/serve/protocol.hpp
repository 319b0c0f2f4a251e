/// What clients of `rungs serve` ask for and get: OpenAI's completions and chat completions, as far as they are served.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rungs/base/error.hpp"
#include "rungs/batching/request.hpp"

namespace rungs {

/// One turn of a conversation.
struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

/// A request as it came, every field checked.
struct Asked {
  bool chat = false;
  std::string prompt = {};                 ///< of a completion; or
  std::vector<int32_t> ids = {};           ///< its tokens
  std::vector<ChatMessage> messages = {};  ///< of a chat
  SampleOptions sampling = {};
  std::optional<uint64_t> seed = {};       ///< none: the server draws one
  std::optional<int64_t> max_tokens = {};  ///< none: 16 for a completion, what fits for a chat, as OpenAI has it
  std::vector<std::string> stop = {};      ///< the text ends before the first of these
  bool stream = false, stream_usage = false;
  bool ignore_eos = false;  ///< go on behind the end of the text, as vLLM has it: for measuring
};

/// What is answered in place of a text.
struct HttpError : Error {
  HttpError(int http_status, const std::string& says, std::string code_of_openai = "")
      : Error(says), status(http_status), code(std::move(code_of_openai)) {}
  int status;
  std::string code;  ///< "model_not_found"; "": none
};

/// \throws HttpError: 404 where `asked` is another than `served`
void check_model(const std::string& asked, const std::string& served);

/// How tokens are drawn where neither the request nor the model says so, as OpenAI has it.
inline constexpr SampleOptions openai_sampling{.temperature = 1};

/// Reads the body of POST /v1/completions, or of /v1/chat/completions. `model`: the only one that there is. `usual`:
/// what a request leaves open is taken from there.
/// \throws HttpError: 400 for what is no JSON, a field that is unknown or has a value that is not served; 404 for
/// another model
Asked parse_request(std::string_view body, bool chat, const std::string& model,
                    const SampleOptions& usual = openai_sampling);

/// {"error": {"message", "type", "code"}}
std::string error_body(int status, const std::string& says, const std::string& code = "");

/// What an answer is called, and how long it is.
struct AnswerHead {
  bool chat;
  std::string id, model;
  int64_t created;  ///< seconds since 1970
};

/// Tokens of the prompt, those of them found in the cache, and those drawn.
struct Usage {
  int64_t prompt = 0, found = 0, drawn = 0;
};

/// The whole answer. `finish`: "stop" or "length".
std::string answer_body(const AnswerHead& head, const std::string& text, const char* finish, const Usage& usage);

/// One event of a stream, "data: ...\n\n". `finish` null: it goes on.
std::string text_event(const AnswerHead& head, const std::string& text, const char* finish);
/// The first event of a chat says who speaks.
std::string role_event(const AnswerHead& head);
std::string usage_event(const AnswerHead& head, const Usage& usage);
std::string error_event(const std::string& says);
inline constexpr const char* last_event = "data: [DONE]\n\n";

}  // namespace rungs
