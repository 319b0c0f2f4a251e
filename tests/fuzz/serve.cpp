// The body of a request to rungs serve, and stop texts in the pieces of an answer.
#include "fuzz.hpp"
#include "serve/protocol.hpp"
#include "serve/stop_texts.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const std::string_view body = input.next();
  for (const bool chat : {false, true}) {
    try {
      const Asked asked = parse_request(body, chat, "stories");
      StopTexts stops(asked.stop);
      std::string shown, whole(input.rest());
      for (size_t at = 0; at < whole.size() && !stops.found(); at += 3) shown += stops.add(whole.substr(at, 3));
      if (!stops.found()) shown += stops.rest();
      if (!whole.starts_with(shown)) __builtin_trap();
      for (const std::string& stop : asked.stop)
        if (shown.find(stop) != shown.npos) __builtin_trap();
      answer_body({chat, "id", "stories", 0}, asked.prompt, "stop", {});
    } catch (const HttpError& e) {
      if (e.status < 400 || e.status > 499) __builtin_trap();
      error_body(e.status, e.what(), e.code);
    }
  }
  return 0;
}
