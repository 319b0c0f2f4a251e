#include "protocol.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/fields.hpp"
#include "rungs/generate/sampler.hpp"

namespace rungs {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

/// A field of OpenAI's that is taken where it asks for nothing, and the values that do so.
struct Neutral {
  const char *name, *allowed;
};

/// The fields that an object may have.
struct Names {
  std::vector<std::string_view> known;
  std::vector<Neutral> neutral = {};
};

/// Those from `user` on change nothing here.
const Names of_request = {
    {"model", "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "seed", "stop", "stream",
     "stream_options", "ignore_eos", "user", "metadata", "store", "service_tier", "parallel_tool_calls"},
    {{"n", "[1]"},
     {"best_of", "[1]"},
     {"echo", "[false]"},
     {"logprobs", "[false]"},
     {"top_logprobs", "[0]"},
     {"presence_penalty", "[0]"},
     {"frequency_penalty", "[0]"},
     {"logit_bias", "[{}]"},
     {"suffix", "[\"\"]"},
     {"tools", "[[]]"},
     {"tool_choice", "[\"none\", \"auto\"]"},
     {"response_format", "[{\"type\": \"text\"}]"}}};

/// As an answer of OpenAI's has them, too, since clients send back what they got. `name` changes nothing.
const Names of_message = {{"role", "content", "name"},
                          {{"tool_calls", "[[]]"},
                           {"function_call", "[null]"},
                           {"refusal", "[null]"},
                           {"annotations", "[[]]"},
                           {"audio", "[null]"}}};
const Names of_content = {{"type", "text"}};
const Names of_stream_options = {{"include_usage"}, {{"include_obfuscation", "[false]"}}};

bool has(const auto& list, const auto& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

/// Refuses what is not among the names. `prefix`: as that of `fields`.
void check_names(const Fields& fields, const json& object, const Names& names, const char* prefix = "") {
  for (const auto& item : object.items()) {
    const std::string& name = item.key();
    const json& value = item.value();
    if (value.is_null() || has(names.known, name)) continue;
    const auto found =
        std::find_if(names.neutral.begin(), names.neutral.end(), [&](auto& n) { return n.name == name; });
    if (found == names.neutral.end())
      throw HttpError(400, fmt::format("the request: {}{}: there is no such field", prefix, brief(json(name))));
    const json allowed = json::parse(found->allowed);
    if (!has(allowed, value)) fields.fail(found->name, brief(allowed[0]) + ", the rest is not served");
  }
}

std::string content_of(const Fields& message) {
  const json& content = message.at("content");
  if (content.is_string()) return content;
  if (!content.is_array()) message.fail("content", "a string, or a list of texts");
  std::string text;
  for (const json& each : content) {
    constexpr const char* prefix = "messages: content: ";
    const Fields part(each, "the request", prefix);
    part.one_of("type", {"text"});
    check_names(part, each, of_content, prefix);
    text += part.text("text");
  }
  return text;
}

std::vector<ChatMessage> messages_of(const Fields& fields) {
  std::vector<ChatMessage> messages;
  for (const json& each : fields.list("messages")) {
    constexpr const char* prefix = "messages: ";
    const Fields message(each, "the request", prefix);
    std::string role = message.one_of("role", {"system", "developer", "user", "assistant"});
    check_names(message, each, of_message, prefix);
    messages.push_back({role == "developer" ? "system" : role, content_of(message)});
  }
  if (messages.empty()) fields.fail("messages", "at least one message");
  return messages;
}

/// One text, alone or in a list; or a list of tokens.
void read_prompt(Asked& asked, const Fields& fields) {
  const json& prompt = fields.at("prompt");
  if (prompt.is_string()) {
    asked.prompt = prompt;
  } else if (prompt.is_array() && !prompt.empty() && prompt[0].is_number_integer()) {
    asked.ids = fields.whole_list("prompt", 0, INT32_MAX);
  } else if (prompt.is_array() && prompt.size() == 1 && prompt[0].is_string()) {
    asked.prompt = prompt[0];
  } else {
    fields.fail("prompt", "a string or a list of tokens: one prompt a request");
  }
}

std::vector<std::string> stop_of(const Fields& fields) {
  if (!fields.has("stop")) return {};
  const json& stop = fields.at("stop");
  std::vector<std::string> list;
  for (const json& each : stop.is_array() ? stop : json::array({stop})) {
    if (!each.is_string() || each.get<std::string>().empty() || list.size() == 16 ||
        each.get<std::string>().size() > 1000)
      fields.fail("stop", "a string of 1 to 1000 bytes, or a list of up to 16 of them");
    list.push_back(each);
  }
  return list;
}

/// Two names for one number.
std::optional<int64_t> max_tokens_of(const Fields& fields) {
  std::optional<int64_t> tokens;
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    if (!fields.has(name)) continue;
    const int64_t found = fields.whole(name, 1, int64_t(1) << 40);
    if (tokens.value_or(found) != found) fields.fail(name, fmt::format("{}, as max_tokens is", *tokens));
    tokens = found;
  }
  return tokens;
}

Asked read(const json& body, bool chat, const std::string& model, const SampleOptions& usual) {
  const Fields fields(body, "the request");
  Names names = of_request;
  names.known.push_back(chat ? "messages" : "prompt");
  if (fields.has(chat ? "prompt" : "messages"))
    throw HttpError(400, chat
                             ? "the request: \"prompt\" is for /v1/completions: a chat has \"messages\""
                             : "the request: \"messages\" are for /v1/chat/completions: a completion has a \"prompt\"");
  check_names(fields, body, names);
  if (fields.has("model")) check_model(fields.text("model"), model);
  Asked asked{.chat = chat, .sampling = usual};
  if (chat)
    asked.messages = messages_of(fields);
  else
    read_prompt(asked, fields);
  asked.max_tokens = max_tokens_of(fields);
  if (!chat && !asked.max_tokens) asked.max_tokens = 16;
  constexpr double far = 1e9;
  if (fields.has("temperature")) asked.sampling.temperature = fields.number("temperature", -far, far);
  if (fields.has("top_p")) asked.sampling.top_p = fields.number("top_p", -far, far);
  if (fields.has("top_k")) asked.sampling.top_k = fields.whole("top_k", 0, INT32_MAX);
  check(asked.sampling);
  if (fields.has("seed")) asked.seed = uint64_t(fields.whole("seed", INT64_MIN, INT64_MAX));
  asked.stop = stop_of(fields);
  asked.stream = fields.truth("stream", false);
  asked.ignore_eos = fields.truth("ignore_eos", false);
  if (fields.has("stream_options")) {
    const Fields options = fields.inner("stream_options");
    check_names(options, fields.at("stream_options"), of_stream_options, "stream_options.");
    asked.stream_usage = options.truth("include_usage", false);
  }
  return asked;
}

ordered_json head_json(const AnswerHead& head, const char* kind) {
  const std::string object = head.chat ? std::string("chat.completion") + kind : "text_completion";
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

ordered_json usage_json(const Usage& u) {
  return {{"prompt_tokens", u.prompt},
          {"completion_tokens", u.drawn},
          {"total_tokens", u.prompt + u.drawn},
          {"prompt_tokens_details", {{"cached_tokens", u.found}}}};
}

std::string event(const ordered_json& value) { return "data: " + on_one_line(value) + "\n\n"; }

ordered_json finish_json(const char* finish) { return finish ? ordered_json(finish) : ordered_json(nullptr); }

}  // namespace

void check_model(const std::string& asked, const std::string& served) {
  if (asked != served)
    throw HttpError(404, fmt::format("the request: model: this server has \"{}\" alone", served), "model_not_found");
}

Asked parse_request(std::string_view body, bool chat, const std::string& model, const SampleOptions& usual) {
  try {
    return read(parse_json(body, "the request"), chat, model, usual);
  } catch (const HttpError&) {
    throw;
  } catch (const Error& e) {
    throw HttpError(400, e.what());
  }
}

std::string error_body(int status, const std::string& says, const std::string& code) {
  const char* type = status == 401 ? "authentication_error" : status < 500 ? "invalid_request_error" : "server_error";
  const ordered_json error = {
      {"message", says}, {"type", type}, {"code", code.empty() ? ordered_json(nullptr) : ordered_json(code)}};
  return pretty(ordered_json{{"error", error}}) + "\n";
}

std::string answer_body(const AnswerHead& head, const std::string& text, const char* finish, const Usage& usage) {
  ordered_json j = head_json(head, "");
  ordered_json choice = {{"index", 0}};
  if (head.chat)
    choice["message"] = {{"role", "assistant"}, {"content", text}};
  else
    choice["text"] = text;
  choice["logprobs"] = nullptr, choice["finish_reason"] = finish;
  j["choices"] = ordered_json::array({choice});
  j["usage"] = usage_json(usage);
  return pretty(j) + "\n";
}

std::string text_event(const AnswerHead& head, const std::string& text, const char* finish) {
  ordered_json j = head_json(head, ".chunk"), choice = {{"index", 0}};
  if (!head.chat)
    choice["text"] = text;
  else if (text.empty())
    choice["delta"] = ordered_json::object();
  else
    choice["delta"] = {{"content", text}};
  choice["finish_reason"] = finish_json(finish);
  j["choices"] = ordered_json::array({choice});
  return event(j);
}

std::string role_event(const AnswerHead& head) {
  ordered_json j = head_json(head, ".chunk");
  const ordered_json choice = {
      {"index", 0}, {"delta", {{"role", "assistant"}, {"content", ""}}}, {"finish_reason", nullptr}};
  j["choices"] = ordered_json::array({choice});
  return event(j);
}

std::string usage_event(const AnswerHead& head, const Usage& usage) {
  ordered_json j = head_json(head, ".chunk");
  j["choices"] = ordered_json::array();
  j["usage"] = usage_json(usage);
  return event(j);
}

std::string error_event(const std::string& says) {
  return event({{"error", {{"message", says}, {"type", "server_error"}, {"code", nullptr}}}});
}

}  // namespace rungs
