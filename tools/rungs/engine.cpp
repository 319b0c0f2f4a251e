#include "engine.hpp"

#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

TextStream Engine::stream(const Tokenizer& tokenizer, bool begins) const {
  auto characters = std::make_shared<Utf8Stream>();
  const auto next = [&tokenizer, characters, begins](int32_t id) mutable {
    const std::string bytes = tokenizer.bytes_of(id, begins);
    begins = begins && tokenizer.bytes_of(id).empty();
    return characters->add(bytes);
  };
  return {next, [characters] { return characters->flush(); }};
}

}  // namespace rungs
