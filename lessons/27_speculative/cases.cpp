#include <map>
#include <memory>

#include "pieces.hpp"
#include "rungs/base/file.hpp"
#include "rungs/grader/case_model.hpp"
#include "rungs/ops/cpu_ops.hpp"

namespace lesson_27 {

/// The model of a case, or with "_draft" behind its name its draft, opened once in a runner process.
static Model& opened(const std::string& name) {
  static CpuOps ops;
  static std::map<std::string, std::unique_ptr<Model>> open;
  std::unique_ptr<Model>& model = open[name];
  if (!model) model = load_model(ops, weights_directory() / name);
  return *model;
}

static Tokens tokens_of(const Tensor& ids) {
  const int32_t* first = ids.data<int32_t>();
  return {first, first + ids.count()};
}

static void record(Recording& rec, const char* name, const Tokens& values) {
  rec.output(name, Tensor::view_of(values.data(), {int64_t(values.size())}, DType::i32));
}

/// Rows that are rolled back although they are right change no text and no counts: only time is lost.
static void check_rows(const Reader& reader, const char* whose) {
  if (reader.again > 0)
    throw Error(fmt::format("{} read {} rows again that its cache had: only tokens that were not kept are rolled back.",
                            whose, reader.again));
}

/// The same of the draft, whose calls are in no counts. drafted: how many tokens it had to guess.
static void check_draft(const Reader& draft, int64_t drafted) {
  if (draft.calls > drafted)
    throw Error(
        fmt::format("The draft was called {} times for {} tokens: once for each is enough.", draft.calls, drafted));
  check_rows(draft, "The draft");
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  int64_t drawn = 0;
  const Draw draw = [&] { return in["draws"].value(drawn++); };
  if (in.run == "accept") {
    const Tensor& tokens = in["tokens"];
    Tokens accepted;
    for (int64_t i = 0; i < tokens.count(); ++i)
      accepted.push_back(pieces.accept(in["p"], in["q"], tokens.at<int32_t>(i), in["draws"].value(i)));
    record(rec, "accepted", accepted);
  } else if (in.run == "residual") {
    Tensor out(in["p"].shape());  // (V)
    pieces.residual(out, in["p"], in["q"]);
    rec.output("out", out);
  } else if (in.run == "verify") {
    const Verdict v = pieces.verify(in["p"], in["q"], tokens_of(in["drafted"]), draw);
    record(rec, "verdict", {int32_t(v.kept), v.next});
  } else if (in.run == "roll_back") {
    Reader reader(opened("references/models/tiny_a"), {}, 16);
    reader.cached = int64_t(in.scalar("cached"));
    pieces.roll_back(reader, int64_t(in.scalar("length")));
    record(rec, "cached", {int32_t(reader.cached)});
  } else {
    Model &model = opened(in.model), &small = opened(in.model + "_draft");
    const SampleOptions sampling = sample_options_of(in);
    Reader reader(model, sampling, model.config().max_seq_len), draft(small, sampling, small.config().max_seq_len);
    const Tokens prompt = tokens_of(in["prompt"]);
    const auto k = int64_t(in.scalar("k"));
    if (in.run == "guess") {
      Tensor q({k, model.config().vocab_size});  // (k, V)
      record(rec, "drafted", pieces.guess(draft, prompt, k, q, draw));
      rec.output("q", q);
      return check_draft(draft, k);
    }
    GenerateOptions options{.sampling = sampling, .max_tokens = int64_t(in.scalar("max_tokens"))};
    options.stop = model.config().eos;
    Counts counts;
    record(rec, "tokens", pieces.generate(reader, draft, prompt, options, k, draw, counts));
    const int64_t calls = reader.calls;  // as the model counts them, which the learner's file cannot
    record(rec, "counts", {int32_t(counts.drafted), int32_t(counts.kept), int32_t(calls)});
    check_rows(reader, "The model");
    check_draft(draft, counts.drafted);
  }
}

}  // namespace lesson_27
