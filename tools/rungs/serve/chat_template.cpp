#include "chat_template.hpp"

#include "rungs/checkpoint/gguf.hpp"
#include "rungs/model/llama_gguf.hpp"
#include "rungs/tokenizer/gguf_tokenizer.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

/// A stretch of the prompt: marks of the template, or what somebody wrote.
struct Stretch {
  bool marks;
  std::string text;
};

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
  return first == text.npos ? "" : text.substr(first, last - first + 1);
}

using Stretches = std::vector<Stretch>;

Stretches chatml(const std::vector<ChatMessage>& messages) {
  Stretches all;
  for (const auto& [role, content] : messages)
    all.insert(all.end(),
               {{true, "<|im_start|>"}, {false, role + "\n" + content}, {true, "<|im_end|>"}, {false, "\n"}});
  all.insert(all.end(), {{true, "<|im_start|>"}, {false, "assistant\n"}});
  return all;
}

Stretches llama3(const std::vector<ChatMessage>& messages) {
  Stretches all;
  const auto head = [&](const std::string& role) {
    all.insert(all.end(), {{true, "<|start_header_id|>"}, {false, role}, {true, "<|end_header_id|>"}});
  };
  for (const auto& [role, content] : messages) {
    head(role);
    all.insert(all.end(), {{false, "\n\n" + trimmed(content)}, {true, "<|eot_id|>"}});
  }
  head("assistant");
  all.push_back({false, "\n\n"});
  return all;
}

/// A system message stands within the first question; each answer ends a sequence, and the next question begins one.
Stretches llama2(const std::vector<ChatMessage>& messages) {
  Stretches all;
  std::string system;
  bool begun = true;  // the caller puts the first <s>
  for (const auto& [role, content] : messages) {
    if (role == "system") {
      system = "<<SYS>>\n" + content + "\n<</SYS>>\n\n";
    } else if (role == "user") {
      if (!begun) all.push_back({true, "<s>"});
      all.push_back({false, "[INST] " + system + trimmed(content) + " [/INST]"});
      system.clear(), begun = true;
    } else {
      all.insert(all.end(), {{false, " " + trimmed(content) + " "}, {true, "</s>"}});
      begun = false;
    }
  }
  return all;
}

Stretches zephyr(const std::vector<ChatMessage>& messages) {
  Stretches all;
  for (const auto& [role, content] : messages)
    all.insert(all.end(), {{false, "<|" + role + "|>\n" + content}, {true, "</s>"}, {false, "\n"}});
  all.push_back({false, "<|assistant|>\n"});
  return all;
}

Stretches plain(const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const auto& [role, content] : messages) text += role + ": " + trimmed(content) + "\n";
  return {{false, text + "assistant:"}};
}

Stretches stretches_of(ChatTemplate kind, const std::vector<ChatMessage>& messages) {
  switch (kind) {
    case ChatTemplate::chatml:
      return chatml(messages);
    case ChatTemplate::llama3:
      return llama3(messages);
    case ChatTemplate::llama2:
      return llama2(messages);
    case ChatTemplate::zephyr:
      return zephyr(messages);
    default:
      return plain(messages);
  }
}

}  // namespace

ChatTemplate chat_template_of(const std::string& jinja) {
  const auto has = [&](const char* mark) { return jinja.find(mark) != jinja.npos; };
  if (has("<|im_start|>")) return ChatTemplate::chatml;
  if (has("<|start_header_id|>")) return ChatTemplate::llama3;
  if (has("[INST]")) return ChatTemplate::llama2;
  if (has("<|assistant|>")) return ChatTemplate::zephyr;
  return ChatTemplate::plain;
}

std::string read_chat_template(const fs::path& model) {
  if (is_gguf(model)) {
    const GgufMetadata metadata = read_gguf_metadata(model);
    return metadata.has("tokenizer.chat_template") ? metadata.text("tokenizer.chat_template") : "";
  }
  return fs::is_directory(model) ? chat_template_in(model) : "";
}

const char* name_of(ChatTemplate kind) {
  constexpr const char* names[] = {"plain", "ChatML", "Llama 3", "Llama 2", "Zephyr"};
  return names[int(kind)];
}

std::vector<int32_t> chat_tokens(ChatTemplate kind, const std::vector<ChatMessage>& messages,
                                 const Tokenizer& tokenizer, int32_t bos) {
  std::vector<int32_t> tokens;
  if (bos >= 0 && kind != ChatTemplate::chatml) tokens.push_back(bos);  // ChatML has none: it begins with <|im_start|>
  Stretches joined;  // a tokenizer sees the text between two marks as one
  for (const Stretch& each : stretches_of(kind, messages))
    if (!joined.empty() && !each.marks && !joined.back().marks)
      joined.back().text += each.text;
    else
      joined.push_back(each);
  for (const auto& [marks, text] : joined) {
    const std::vector<int32_t> ids = marks ? tokenizer.encode_with_specials(text) : tokenizer.encode(text);
    tokens.insert(tokens.end(), ids.begin(), ids.end());
  }
  return tokens;
}

std::vector<int32_t> chat_stops(ChatTemplate kind, const Tokenizer& tokenizer) {
  std::vector<int32_t> stops;
  for (const char* mark :
       {kind == ChatTemplate::chatml ? "<|im_end|>" : "", kind == ChatTemplate::llama3 ? "<|eot_id|>" : ""}) {
    if (!*mark) continue;
    const std::vector<int32_t> ids = tokenizer.encode_with_specials(mark);
    if (ids.size() == 1 && tokenizer.is_special(ids[0])) stops.push_back(ids[0]);
  }
  return stops;
}

std::vector<std::string> chat_stop_texts(ChatTemplate kind) {
  return kind == ChatTemplate::plain ? std::vector<std::string>{"\nuser:", "\nsystem:"} : std::vector<std::string>{};
}

}  // namespace rungs
