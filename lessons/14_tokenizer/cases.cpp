#include "pieces.hpp"
#include "rungs/base/file.hpp"

namespace lesson_14 {

static std::string text_of(const Tensor& bytes) {
  return {bytes.data<int32_t>(), bytes.data<int32_t>() + bytes.count()};
}

static Tensor bytes_of(const std::string& text) {
  Tensor bytes({int64_t(text.size())}, DType::i32);
  for (size_t i = 0; i < text.size(); ++i) bytes.data<int32_t>()[i] = uint8_t(text[i]);
  return bytes;
}

template <class Number>
static Tensor numbers(const std::vector<Number>& values) {
  Tensor t({int64_t(values.size())}, DType::i32);
  std::copy(values.begin(), values.end(), t.data<int32_t>());
  return t;
}

static void run_learn_merges(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const std::string text = text_of(in["text"]);
  std::vector<std::string> words;
  size_t at = 0;
  for (int64_t i = 0; i < in["lengths"].count(); ++i) {
    words.push_back(text.substr(at, size_t(in["lengths"].at<int32_t>(i))));
    at += words.back().size();
  }
  const std::vector<TokenPair> merges = pieces.learn_merges(words, int(in.scalar("number")));
  Tensor table({int64_t(merges.size()), 2}, DType::i32);
  for (size_t i = 0; i < merges.size(); ++i)
    table.data<int32_t>()[2 * i] = merges[i].first, table.data<int32_t>()[2 * i + 1] = merges[i].second;
  rec.output("merges", table);
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "learn_merges") return run_learn_merges(in, pieces, rec);
  static std::map<std::string, BpeTables> open;  // read once in a runner process
  if (!open.contains(in.model))
    open.emplace(in.model, load_bpe_tables(weights_directory() / in.model / "tokenizer.json"));
  const BpeTables& bpe = open.at(in.model);

  if (in.run == "merge") {
    rec.output("ids", numbers(pieces.merge(bpe, text_of(in["piece"]))));
  } else if (in.run == "encode") {
    rec.output("ids", numbers(pieces.encode(bpe, text_of(in["text"]))));
  } else if (in.run == "decode") {
    const int32_t* ids = in["ids"].data<int32_t>();
    rec.output("text", bytes_of(pieces.decode(bpe, {ids, ids + in["ids"].count()})));
  } else if (in.run == "character_length") {
    std::vector<size_t> lengths;
    for (int64_t i = 0; i < in["bytes"].count(); ++i)
      lengths.push_back(pieces.character_length(uint8_t(in["bytes"].at<int32_t>(i))));
    rec.output("lengths", numbers(lengths));
  } else {  // decode_next, token after token
    std::string held, text;
    std::vector<size_t> ready;  // bytes that each token sets free
    for (int64_t i = 0; i < in["ids"].count(); ++i) {
      const std::string shown = pieces.decode_next(bpe, in["ids"].at<int32_t>(i), held);
      ready.push_back(shown.size());
      text += shown;
    }
    rec.output("ready", numbers(ready));
    rec.output("text", bytes_of(text));
  }
}

}  // namespace lesson_14
