#include "my_engine.hpp"

#include <algorithm>

#include "07_generate/lesson.hpp"
#include "14_tokenizer/lesson.hpp"
#include "15_llama/lesson.hpp"
#include "my_lessons.hpp"

namespace rungs {

const bool engine_is_mine = true;

void become_program_of(const DeviceChoice&) {}

RankBackend backend_of_rank(const DeviceChoice&, Communicator&, int, double) {
  throw UsageError("--mine runs on one process");  // as the command line says, too
}

const MyLesson& my_lesson(int number) {
  for (const MyLesson& lesson : my_lessons())
    if (std::stoi(lesson.name) == number) return lesson;
  throw Error("no lesson has the number " + std::to_string(number));
}

bool passed(int lesson) { return my_lesson(lesson).why.empty(); }

namespace {

/// A byte-level tokenizer.json through lesson 14. What else there is to know of its tokens, the library knows.
class MyTokenizer final : public Tokenizer {
 public:
  MyTokenizer(const Tokenizer& library, BpeTables tables)
      : library_(library), tables_(std::move(tables)), plain_(tables_) {
    plain_.specials.clear();
    bos_ = library_.bos(), eos_ = library_.eos();
  }
  int64_t size() const override { return library_.size(); }
  std::vector<int32_t> encode(std::string_view text) const override { return lesson_14::encode(plain_, text); }
  std::vector<int32_t> encode_with_specials(std::string_view text) const override {
    return lesson_14::encode(tables_, text);
  }
  bool is_special(int32_t id) const override { return library_.is_special(id); }
  std::string bytes_of(int32_t id, bool) const override { return lesson_14::decode(tables_, {id}); }
  std::string name_of(int32_t id) const override { return library_.name_of(id); }
  const BpeTables& tables() const { return tables_; }

 private:
  const Tokenizer& library_;
  BpeTables tables_, plain_;  // with the special tokens, and without them: in a prompt they are text like any other
};

/// LLaMA as lesson 15 runs it.
class MyLlama final : public Model {
 public:
  MyLlama(const Backend& backend, const std::filesystem::path& path, const LoadOptions& options)
      : backend_(backend),
        checkpoint_(path, options.context),
        max_rows_(options.max_rows ? options.max_rows : config().max_seq_len) {
    LlamaWeights& w = checkpoint_.weights;
    w.rotary = lesson_15::rotary_table(config().rope, config().head_dim, config().max_seq_len);
    w.output = lesson_15::output_weight(checkpoint_.file, config());
  }
  const Config& config() const override { return checkpoint_.config; }
  const LlamaWeights& weights() const { return checkpoint_.weights; }
  const Backend& backend() const override { return backend_; }
  int64_t max_rows() const override { return max_rows_; }
  void forward(Tensor& logits, const Batch& batch, KvCache* cache) override {
    if (cache) return lesson_15::llama_forward(backend_.ops, logits, batch, checkpoint_.weights, *cache);
    const auto beyond = [](const std::vector<int32_t>& list) {
      return *std::max_element(list.begin(), list.end()) + 1;
    };
    KvCache own(backend_.device, config(), beyond(batch.sequence),
                beyond(batch.position));  // forgotten after this call
    lesson_15::llama_forward(backend_.ops, logits, batch, checkpoint_.weights, own);
  }

 private:
  Backend backend_;
  LlamaCheckpoint checkpoint_;
  int64_t max_rows_;
};

int32_t pick(std::span<const float> logits, const SampleOptions& options, double draw) {
  const ConstTensor row = Tensor::view_of(logits.data(), {int64_t(logits.size())}, DType::f32);  // (V)
  Tensor p(row.shape());
  lesson_07::probabilities(p, row, options);
  return lesson_07::sample(p, draw);
}

/// What Step says of each token, from what generate of lesson 15 shows.
class Shown {
 public:
  Shown(const Sequences& prompts, const std::function<void(const Step&)>& on_step)
      : tokens_(prompts), fed_(prompts.size(), 0), step_(prompts.size(), 0), on_step_(on_step) {}
  void operator()(int64_t b, int32_t token) {
    std::vector<int32_t>& tokens = tokens_[size_t(b)];
    int64_t& fed = fed_[size_t(b)];
    const auto end = int64_t(tokens.size());
    if (on_step_) on_step_({b, step_[size_t(b)]++, fed, end, std::span(tokens).subspan(size_t(fed)), token});
    fed = end;
    tokens.push_back(token);
  }

 private:
  Sequences tokens_;
  std::vector<int64_t> fed_, step_;
  const std::function<void(const Step&)>& on_step_;
};

class MyEngine final : public Engine {
 public:
  MyEngine(const Backend& backend, std::span<const Role> roles, OpenLlama open_llama, void (*opens)(const Config&))
      : Engine(backend), roles_(roles), open_llama_(open_llama), opens_(opens) {}

  std::vector<EnginePart> parts(const Config& config) const override {
    std::vector<EnginePart> list;
    for (const Role& role : roles_) {
      if (!(config.is_llama() ? role.llama : role.decoder)) continue;
      const MyLesson& lesson = my_lesson(role.lesson);
      list.push_back({lesson.name, role.functions, lesson.why.empty(), lesson.why});
      if (role.lesson == 14 && !byte_level_)
        list.back().mine = false, list.back().why = "this tokenizer is another kind";
    }
    return list;
  }

  std::unique_ptr<Tokenizer> tokenizer(const std::filesystem::path& path) override {
    std::unique_ptr<Tokenizer> library = load_tokenizer(path);
    const std::filesystem::path file = is_directory(path) ? path / "tokenizer.json" : path;
    try {
      auto mine = std::make_unique<MyTokenizer>(*library, load_bpe_tables(file));
      byte_level_ = true;
      if (!takes_part(14)) return library;
      library_ = std::move(library);
      return mine;
    } catch (const FileError&) {  // the library has read it: it is of another kind
      return library;
    }
  }

  TextStream stream(const Tokenizer& tokenizer, bool begins) const override {
    const auto* mine = dynamic_cast<const MyTokenizer*>(&tokenizer);
    if (!mine) return Engine::stream(tokenizer, begins);
    auto held = std::make_shared<std::string>();
    return {[mine, held](int32_t id) { return lesson_14::decode_next(mine->tables(), id, *held); },
            [held] { return held->empty() ? "" : "\uFFFD"; }};
  }

  std::unique_ptr<Model> model(const std::filesystem::path& path, const LoadOptions& options) override {
    const Config config = load_config(path);
    if (opens_) opens_(config);
    if (!(takes_part(15) || open_llama_) || !config.is_llama()) return Engine::model(path, options);
    if (open_llama_) return open_llama_(path, options);
    return std::make_unique<MyLlama>(backend_, path, options);
  }

  Sequences generate(Model& model, const Sequences& prompts, const GenerateOptions& options,
                     const std::function<void(const Step&)>& on_step) override {
    GenerateOptions own = options;
    if (takes_part(7)) own.pick = pick;
    const auto* mine = dynamic_cast<const MyLlama*>(&model);
    const int32_t bos = model.config().bos;
    const auto begins = [&](const std::vector<int32_t>& tokens) { return !tokens.empty() && tokens[0] == bos; };
    if (!mine || !options.cache || !std::all_of(prompts.begin(), prompts.end(), begins))
      return Engine::generate(model, prompts, own, on_step);

    check_prompts(prompts, options, model.config().max_seq_len);
    Sequences texts;  // lesson 15 puts BOS in front
    std::vector<std::mt19937_64> random;
    for (const auto& tokens : prompts) {
      texts.emplace_back(tokens.begin() + 1, tokens.end());
      random.emplace_back(options.seed + random.size());
    }
    return lesson_15::generate(
        backend_.ops, mine->weights(), bos, texts, options, [&](int64_t b) { return draw(random[size_t(b)]); },
        Shown(prompts, on_step));
  }

 private:
  bool takes_part(int lesson) const {
    return passed(lesson) && std::ranges::find(roles_, lesson, &Role::lesson) != roles_.end();
  }

  std::span<const Role> roles_;
  OpenLlama open_llama_;
  void (*opens_)(const Config&);
  bool byte_level_ = false;
  std::unique_ptr<Tokenizer> library_;
};

}  // namespace

std::unique_ptr<Engine> my_engine(const Backend& backend, std::span<const Role> roles, OpenLlama open_llama,
                                  void (*opens)(const Config&)) {
  return std::make_unique<MyEngine>(backend, roles, open_llama, opens);
}

}  // namespace rungs
