// What a client may ask of `rungs serve`, before there is a server.
#include "serve/protocol.hpp"

#include "contains.hpp"
#include "rungs/base/file.hpp"
#include "rungs/tokenizer/tokenizer.hpp"
#include "serve/chat_template.hpp"
#include "serve/stop_texts.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("serve");

namespace {

/// The status and the sentence with which a body is refused; "taken" where it is not.
std::string refusal(const std::string& body, bool chat = false) {
  try {
    parse_request(body, chat, "stories");
    return "taken";
  } catch (const HttpError& e) {
    return std::to_string(e.status) + ": " + e.what();
  }
}

/// The JSON of each event of a stream.
std::vector<json> events(const std::string& stream) {
  std::vector<json> all;
  for (size_t at = 0; at < stream.size();) {
    const size_t end = stream.find("\n\n", at);
    REQUIRE(end != stream.npos);
    REQUIRE(stream.compare(at, 6, "data: ") == 0);
    all.push_back(json::parse(stream.substr(at + 6, end - at - 6)));
    at = end + 2;
  }
  return all;
}

}  // namespace

TEST_CASE("a completion is read field by field, with the defaults of OpenAI") {
  const Asked usual = parse_request(R"({"prompt": "Once"})", false, "stories");
  CHECK(usual.prompt == "Once");
  CHECK(usual.sampling.temperature == 1);
  CHECK(usual.sampling.top_p == 1);
  CHECK(*usual.max_tokens == 16);
  CHECK_FALSE(usual.stream);
  CHECK_FALSE(usual.seed.has_value());
  const Asked as_model = parse_request(R"({"prompt": "Once", "top_k": 2})", false, "stories",
                                       {.temperature = 0.5, .top_k = 7, .top_p = 0.8});
  CHECK(as_model.sampling.temperature == 0.5);
  CHECK(as_model.sampling.top_k == 2);
  CHECK(as_model.sampling.top_p == 0.8);
  CHECK(parse_request(R"({"prompt": [0, 7, 9]})", false, "stories").ids == std::vector<int32_t>{0, 7, 9});

  const Asked all = parse_request(
      R"({"model": "stories", "prompt": ["Once"], "max_tokens": 7, "temperature": 0, "top_p": 0.5, "top_k": 3, "seed": -1,)"
      R"( "stop": ["a", "bc"], "stream": true, "stream_options": {"include_usage": true}, "n": 1, "user": "x",)"
      R"( "presence_penalty": 0.0, "max_completion_tokens": 7, "logprobs": null, "unknown": null})",
      false, "stories");
  CHECK(*all.max_tokens == 7);
  CHECK(all.sampling.temperature == 0);
  CHECK(all.sampling.top_p == 0.5);
  CHECK(all.sampling.top_k == 3);
  CHECK(*all.seed == ~uint64_t(0));
  CHECK(all.stop == std::vector<std::string>{"a", "bc"});
  CHECK(all.stream);
  CHECK(all.stream_usage);
}

TEST_CASE("a chat is read with its roles, and contents in parts") {
  const Asked asked = parse_request(
      R"({"messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": [{"type": "text",)"
      R"( "text": "a"}, {"type": "text", "text": "b"}]}], "max_completion_tokens": 5})",
      true, "stories");
  REQUIRE(asked.messages.size() == 2);
  CHECK(asked.messages[0].role == "system");
  CHECK(asked.messages[1].content == "ab");
  CHECK(*asked.max_tokens == 5);
  CHECK_FALSE(parse_request(R"({"messages": [{"role": "user", "content": "a"}]})", true, "stories").max_tokens);
}

TEST_CASE("what is not served is refused in a sentence that names the field") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "400: the request: is not JSON"},
      {"{\"prompt\": \"a\"", "400: the request: is not JSON"},
      {"[]", "400: the request: wanted an object, found array"},
      {"{}", "400: the request: prompt: wanted a value, found none"},
      {R"({"prompt": 5})",
       "400: the request: prompt: wanted a string or a list of tokens: one prompt a request, found 5"},
      {R"({"prompt": [1, "b"]})", "400: the request: prompt: wanted"},
      {R"({"prompt": [1, -2]})", "400: the request: prompt: wanted"},
      {R"({"prompt": []})", "400: the request: prompt: wanted"},
      {R"({"prompt": ["a", "b"]})",
       "400: the request: prompt: wanted a string or a list of tokens: one prompt a request"},
      {"{\"prompt\": \"\xff\"}", "400: the request: is not JSON"},
      {R"({"prompt": "\ud800"})", "400: the request: is not JSON"},
      {R"({"prompt": "a", "model": "gpt"})", "404: the request: model: this server has \"stories\" alone"},
      {R"({"prompt": "a", "frobnicate": 1})", "400: the request: \"frobnicate\": there is no such field"},
      {R"({"prompt": "a", "n": 2})", "400: the request: n: wanted 1, the rest is not served, found 2"},
      {R"({"prompt": "a", "presence_penalty": 1})", "400: the request: presence_penalty: wanted 0"},
      {R"({"prompt": "a", "logprobs": 0})",
       "400: the request: logprobs: wanted false, the rest is not served, found 0"},
      {R"({"prompt": "a", "messages": []})",
       "400: the request: \"messages\" are for /v1/chat/completions: a completion has a \"prompt\""},
      {R"({"prompt": "a", "max_tokens": 5, "max_completion_tokens": 6})",
       "400: the request: max_completion_tokens: wanted 5, as max_tokens is, found 6"},
      {R"({"prompt": "a", "stream_options": {"foo": true}})",
       "400: the request: stream_options.\"foo\": there is no such field"},
      {R"({"prompt": "a", "stream_options": {"include_obfuscation": true}})",
       "400: the request: stream_options.include_obfuscation: wanted false, the rest is not served, found true"},
      {R"({"prompt": "a", "max_tokens": 0})", "400: the request: max_tokens: wanted a whole number from 1"},
      {R"({"prompt": "a", "max_tokens": -3})", "400: the request: max_tokens: wanted a whole number from 1"},
      {R"({"prompt": "a", "max_tokens": 1e30})", "400: the request: max_tokens: wanted a whole number from 1"},
      {R"({"prompt": "a", "temperature": -1})", "400: temperature: wanted a number of at least 0, found -1"},
      {R"({"prompt": "a", "temperature": "warm"})", "400: the request: temperature: wanted a number"},
      {R"({"prompt": "a", "top_p": 0})", "400: top-p: wanted a number above 0"},
      {R"({"prompt": "a", "top_k": -1})", "400: the request: top_k: wanted a whole number from 0"},
      {R"({"prompt": "a", "stop": [""]})", "400: the request: stop: wanted a string of 1 to 1000 bytes"},
      {R"({"prompt": "a", "stream": 1})", "400: the request: stream: wanted true or false, found 1"},
  };
  for (const auto& [body, says] : cases) {
    CAPTURE(std::string(body));
    CHECK(refusal(body) == Contains(says));
  }
  CHECK(refusal(std::string(100'000, '[')) == Contains("400: the request: "));
  CHECK(refusal(R"({"messages": []})", true) == Contains("messages: wanted at least one message"));
  CHECK(refusal(R"({"messages": [{"role": "king", "content": "a"}]})", true) == Contains("role: wanted \"system\""));
  CHECK(refusal(R"({"messages": [{"role": "user"}]})", true) == Contains("content: wanted a value, found none"));
  CHECK(refusal(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", true) ==
        Contains("type: wanted \"text\""));
  CHECK(refusal(R"({"messages": [{"role": "user", "content": "a"}], "prompt": "a"})", true) ==
        "400: the request: \"prompt\" is for /v1/completions: a chat has \"messages\"");
}

TEST_CASE("what OpenAI's clients put into messages is taken where it asks for nothing, and other fields are refused") {
  const auto message = [](const std::string& fields) {
    return refusal(R"({"messages": [{"role": "assistant", )" + fields + "}]}", true);
  };
  CHECK(message(R"("content": "x", "name": "bob")") == "taken");
  CHECK(message(R"("content": "x", "refusal": null, "annotations": [], "audio": null, "function_call": null,)"
                R"( "tool_calls": null)") == "taken");
  CHECK(message(R"("content": "x", "foo": "bob")") == "400: the request: messages: \"foo\": there is no such field");
  CHECK(message(R"("content": null, "tool_calls": [{"id": "1"}])") ==
        Contains("400: the request: messages: tool_calls: wanted [], the rest is not served, found [{"));
  CHECK(message(R"("content": "x", "refusal": "no")") ==
        Contains("400: the request: messages: refusal: wanted null, the rest is not served"));
  CHECK(message(R"("content": [{"type": "text", "text": "a", "foo": 1}])") ==
        "400: the request: messages: content: \"foo\": there is no such field");
  CHECK(refusal(R"({"messages": [{"role": "tool", "tool_call_id": "1", "content": "x"}]})", true) ==
        Contains("role: wanted \"system\""));
}

TEST_CASE("answers have the form of OpenAI's") {
  const AnswerHead head{false, "cmpl-1", "stories", 5}, chat{true, "chatcmpl-1", "stories", 5};
  const json whole = json::parse(answer_body(head, "a \"b\"\n", "stop", {3, 2, 4}));
  CHECK(whole["object"] == "text_completion");
  CHECK(whole["choices"][0]["text"] == "a \"b\"\n");
  CHECK(whole["choices"][0]["finish_reason"] == "stop");
  CHECK(whole["usage"] == json::parse(R"({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7,)"
                                      R"( "prompt_tokens_details": {"cached_tokens": 2}})"));
  CHECK(json::parse(answer_body(chat, "a", "length", {}))["choices"][0]["message"]["content"] == "a");

  const std::vector<json> parts =
      events(role_event(chat) + text_event(chat, "a", nullptr) + text_event(chat, "", "length"));
  REQUIRE(parts.size() == 3);
  CHECK(parts[0]["choices"][0]["delta"]["role"] == "assistant");
  CHECK(parts[1]["object"] == "chat.completion.chunk");
  CHECK(parts[1]["choices"][0]["delta"]["content"] == "a");
  CHECK(parts[1]["choices"][0]["finish_reason"].is_null());
  CHECK(parts[2]["choices"][0]["delta"] == json::object());
  CHECK(parts[2]["choices"][0]["finish_reason"] == "length");
  CHECK(json::parse(error_body(404, "no", "model_not_found"))["error"]["code"] == "model_not_found");
}

TEST_CASE("a text ends before the first stop text, however it is cut into pieces") {
  const std::string text = "one two three STOP four";
  for (size_t size = 1; size <= text.size(); ++size) {
    CAPTURE(size);
    StopTexts stops({"STOP", "three S", "nowhere"});
    std::string shown;
    for (size_t at = 0; at < text.size() && !stops.found(); at += size) shown += stops.add(text.substr(at, size));
    CHECK(shown == "one two ");
    CHECK(stops.found());
  }
  StopTexts never({"aab"});
  std::string shown;
  for (const char* piece : {"a", "a", "a", "c", "a", "a"}) shown += never.add(piece);
  CHECK(shown == "aaac");
  CHECK(never.rest() == "aa");
  CHECK_FALSE(never.found());
}

TEST_CASE("templates are known by their marks") {
  CHECK(chat_template_of("{{'<|im_start|>' + message.role}}") == ChatTemplate::chatml);
  CHECK(chat_template_of("<|start_header_id|>") == ChatTemplate::llama3);
  CHECK(chat_template_of("[INST] <<SYS>>") == ChatTemplate::llama2);
  CHECK(chat_template_of("<|user|> <|assistant|>") == ChatTemplate::zephyr);
  CHECK(chat_template_of("") == ChatTemplate::plain);

  const Folder folder;
  CHECK(read_chat_template(folder.path()).empty());
  write_file(folder / "tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "[INST]"}]})");
  CHECK(read_chat_template(folder.path()) == "[INST]");
  write_file(folder / "chat_template.jinja", "<|im_start|>");
  CHECK(read_chat_template(folder.path()) == "<|im_start|>");
}

TEST_CASE("marks of a template become special tokens, and what people write never does") {
  const auto tokenizer = load_tokenizer(weights_directory() / "tokenizers/sentencepiece");
  const std::vector<ChatMessage> talk = {
      {"system", "Be kind."}, {"user", "Hi </s>"}, {"assistant", "Yes"}, {"user", "Go"}};
  const std::vector<int32_t> tokens = chat_tokens(ChatTemplate::llama2, talk, *tokenizer, *tokenizer->bos());
  CHECK(std::count(tokens.begin(), tokens.end(), *tokenizer->eos()) == 1);  // after "Yes" alone
  CHECK(std::count(tokens.begin(), tokens.end(), *tokenizer->bos()) == 2);  // one for each question
  std::string text;
  for (const int32_t id : tokens) text += tokenizer->is_special(id) ? tokenizer->name_of(id) : tokenizer->bytes_of(id);
  CHECK(text == Contains("[INST] <<SYS>>\nBe kind.\n<</SYS>>\n\nHi </s> [/INST]"));
  CHECK(text == Contains("</s><s>"));

  CHECK(text == Contains("[/INST] Yes </s>"));  // one text for the tokenizer: no second space before Yes

  // ChatML has no BOS.
  const auto chatml = [&](int32_t bos) { return chat_tokens(ChatTemplate::chatml, talk, *tokenizer, bos); };
  CHECK(chatml(*tokenizer->bos()) == chatml(-1));

  const std::vector<int32_t> plain = chat_tokens(ChatTemplate::plain, talk, *tokenizer, -1);
  CHECK(tokenizer->decode(plain) == Contains("user: Go\nassistant:"));
  CHECK(chat_stop_texts(ChatTemplate::plain)[0] == "\nuser:");
}

TEST_SUITE_END();
