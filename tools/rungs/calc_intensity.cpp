// rungs calc intensity: FLOPs and bytes of attention, reading a prompt and decoding.
#include "calc.hpp"
#include "rungs/analysis/intensity.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/units.hpp"
#include "rungs/measure/plot.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

struct IntensityQuestion {
  int64_t d, bytes, context;
  std::vector<int64_t> contexts, batches;
};

/// Prefill at one context.
struct PrefillRow {
  int64_t context;
  Cost exact, course;
};

/// A step of decoding at one batch.
struct DecodeRow {
  int64_t batch;
  Cost own, shared, course;
};

IntensityQuestion question(const CalcIntensityCommand& command) {
  IntensityQuestion q{parse_count("head-dim", command.head_dim), parse_count("element-bytes", command.element_bytes),
                      parse_tokens("at", command.context), parse_list("context", command.contexts, parse_tokens),
                      parse_list("batch", command.batches, parse_count)};
  constexpr int64_t most = int64_t(1) << 40;
  for (const auto& [name, value] : {std::pair{"head-dim", q.d}, {"element-bytes", q.bytes}, {"at", q.context}})
    if (value > most) throw UsageError(fmt::format("{}: wanted at most 2^40, found {}", name, value));
  return q;
}

std::string number(double value) { return value < 0x1p62 ? with_commas(int64_t(value)) : fmt::format("{:.3e}", value); }
std::string ratio(const Cost& cost) { return fmt::format("{:.3f}", cost.intensity()); }

void print_steps(const IntensityQuestion& q, const std::string& title, double queries, const char* formula,
                 const Cost& exact, const Cost& course) {
  Table table{{"step", "FLOP", "bytes read", "bytes written"}, {}};
  const auto bytes = double(q.bytes);
  for (const AttentionStep& step : attention_steps(queries, double(q.context), double(q.d)))
    table.rows.push_back(
        {std::string(step.name), number(step.flops), number(step.read * bytes), number(step.written * bytes)});
  table.print(title);
  fmt::print("  derived: {} FLOP / {} bytes = {} FLOP/byte\n", number(exact.flops), number(exact.bytes), ratio(exact));
  fmt::print("  course:  {} = {} FLOP/byte\n\n", formula, ratio(course));
}

void print_text(const IntensityQuestion& q, const std::vector<PrefillRow>& prefill,
                const std::vector<DecodeRow>& decode) {
  fmt::print("Attention of one head of width d = {} over N = {} tokens, {} bytes an element; S and P go to memory\n\n",
             q.d, q.context, q.bytes);
  const auto steps = [&](const char* title, double queries, const std::string& formula, const Cost& exact,
                         const Cost& course) { print_steps(q, title, queries, formula.c_str(), exact, course); };
  steps("Reading a prompt: every token asks", double(q.context),
        fmt::format("(4N²d + 5N²) / ({}(4Nd + 3N² + Nd))", q.bytes), prefill_attention(q.context, q.d, q.bytes),
        prefill_attention(q.context, q.d, q.bytes, Formula::course));
  steps("Decoding: one token asks", 1, fmt::format("(4Nd + 5N) / ({}((2N + 1)d + 3N))", q.bytes),
        decode_attention(q.context, q.d, 1, q.bytes, Caches::own),
        decode_attention(q.context, q.d, 1, q.bytes, Caches::own, Formula::course));
  fmt::print(
      "The course counts three of the four times that N² scores are moved in a prompt, and Nd five times for four;\n"
      "in decoding three of the four times that N scores are, and forgets the output.\n\n");

  Table by_context{{"N", "FLOP", "bytes", "FLOP/byte", "course: FLOP/byte"}, {}};
  for (const PrefillRow& row : prefill)
    by_context.rows.push_back({std::to_string(row.context), number(row.exact.flops), number(row.exact.bytes),
                               ratio(row.exact), ratio(row.course)});
  by_context.print("Prefill, against the context");

  Table by_batch{{"batch", "FLOP", "bytes", "a cache each: FLOP/byte", "one cache: FLOP/byte", "course: FLOP/byte"},
                 {}};
  for (const DecodeRow& row : decode)
    by_batch.rows.push_back({std::to_string(row.batch), number(row.own.flops), number(row.own.bytes), ratio(row.own),
                             ratio(row.shared), ratio(row.course)});
  by_batch.print(fmt::format("Decoding after {} tokens, against the batch", q.context));
  fmt::print("The course's batch reads one cache for all, which holds only where the requests share a prefix.\n");
}

std::vector<Panel> panels(const IntensityQuestion& q, const std::vector<PrefillRow>& prefill,
                          const std::vector<DecodeRow>& decode) {
  Curve exact{"derived", "#00798c", {}, {}}, course{"course", "#d1495b", {}, {}};
  for (const PrefillRow& row : prefill) {
    exact.x.push_back(double(row.context)), exact.y.push_back(row.exact.intensity());
    course.x.push_back(double(row.context)), course.y.push_back(row.course.intensity());
  }
  Curve own{"a cache each", "#00798c", {}, {}}, shared{"one cache for all", "#edae49", {}, {}};
  for (const DecodeRow& row : decode) {
    own.x.push_back(double(row.batch)), own.y.push_back(row.own.intensity());
    shared.x.push_back(double(row.batch)), shared.y.push_back(row.shared.intensity());
  }
  return {{"prefill", "context (tokens)", "FLOP/byte", {exact, course}},
          {fmt::format("decoding after {} tokens", q.context), "batch (requests)", "FLOP/byte", {own, shared}}};
}

ordered_json cost_json(const Cost& cost) {
  return {{"flops", cost.flops}, {"bytes", cost.bytes}, {"flops_per_byte", cost.intensity()}};
}

ordered_json report(const IntensityQuestion& q, const std::vector<PrefillRow>& prefill,
                    const std::vector<DecodeRow>& decode) {
  ordered_json all = {{"head_dim", q.d}, {"element_bytes", q.bytes}, {"context", q.context}};
  for (const PrefillRow& row : prefill)
    all["prefill"].push_back(
        {{"context", row.context}, {"exact", cost_json(row.exact)}, {"course", cost_json(row.course)}});
  for (const DecodeRow& row : decode)
    all["decode"].push_back({{"batch", row.batch},
                             {"own_caches", cost_json(row.own)},
                             {"shared_cache", cost_json(row.shared)},
                             {"course", cost_json(row.course)}});
  return all;
}

/// A line for each point, of both phases.
ordered_json flat(const IntensityQuestion& q, const std::vector<PrefillRow>& prefill,
                  const std::vector<DecodeRow>& decode) {
  ordered_json rows = ordered_json::array();
  const auto add = [&](const char* phase, int64_t context, int64_t batch, const char* count, const Cost& cost) {
    rows.push_back({{"phase", phase},
                    {"context", context},
                    {"batch", batch},
                    {"count", count},
                    {"flops", cost.flops},
                    {"bytes", cost.bytes},
                    {"flops_per_byte", cost.intensity()}});
  };
  for (const PrefillRow& row : prefill) {
    add("prefill", row.context, 1, "exact", row.exact);
    add("prefill", row.context, 1, "course", row.course);
  }
  for (const DecodeRow& row : decode) {
    add("decode", q.context, row.batch, "exact, a cache each", row.own);
    add("decode", q.context, row.batch, "exact, one cache", row.shared);
    add("decode", q.context, row.batch, "course, one cache", row.course);
  }
  return rows;
}

}  // namespace

int calc_intensity(const CalcIntensityCommand& command) {
  const IntensityQuestion q = question(command);
  std::vector<PrefillRow> prefill;
  for (const int64_t n : q.contexts)
    prefill.push_back({n, prefill_attention(n, q.d, q.bytes), prefill_attention(n, q.d, q.bytes, Formula::course)});
  std::vector<DecodeRow> decode;
  for (const int64_t batch : q.batches)
    decode.push_back({batch, decode_attention(q.context, q.d, batch, q.bytes, Caches::own),
                      decode_attention(q.context, q.d, batch, q.bytes, Caches::shared),
                      decode_attention(q.context, q.d, batch, q.bytes, Caches::shared, Formula::course)});
  if (command.output.csv)
    print_csv(flat(q, prefill, decode));
  else if (command.output.json)
    fmt::print("{}\n", pretty(report(q, prefill, decode)));
  else
    print_text(q, prefill, decode);
  draw(command.output, "Arithmetic intensity of attention", panels(q, prefill, decode));
  return 0;
}

}  // namespace rungs
