#include "pieces.hpp"
#include "rungs/base/file.hpp"

namespace lesson_22 {

static int64_t whole(const CaseInput& in, const char* name) { return in[name].data<int64_t>()[0]; }

static void output(Recording& rec, const char* name, int64_t count) {
  rec.output(name, Tensor::view_of(&count, {}, DType::i64));
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const Config c = in.model.empty() ? Config() : load_config(weights_directory() / in.model);
  if (in.run == "gibibytes") {
    const double gib = pieces.gibibytes(whole(in, "bytes"));
    rec.output("gibibytes", Tensor::view_of(&gib, {}, DType::f64));
  } else if (in.run == "parameters") {
    output(rec, "parameters", pieces.parameters(c));
  } else if (in.run == "cache_bytes") {
    output(rec, "bytes", pieces.cache_bytes(c, whole(in, "context"), whole(in, "element_bytes")));
  } else if (in.run == "batch_bytes") {
    output(rec, "bytes",
           pieces.batch_bytes(whole(in, "parameter_bytes"), whole(in, "cache_bytes"), whole(in, "batch")));
  } else if (in.run == "largest_batch") {
    output(rec, "batch",
           pieces.largest_batch(whole(in, "memory"), whole(in, "parameter_bytes"), whole(in, "cache_bytes")));
  } else if (in.run == "quantized_bytes") {
    output(rec, "bytes", pieces.quantized_bytes(whole(in, "numbers"), whole(in, "bits")));
  } else if (in.run == "logits_bytes") {
    output(rec, "bytes", pieces.logits_bytes(c, whole(in, "rows")));
  } else if (in.run == "workspace_bytes") {
    output(rec, "bytes", pieces.workspace_bytes(c, whole(in, "rows")));
  } else if (in.run == "paged_bytes") {
    output(rec, "bytes", pieces.paged_bytes(c, whole(in, "context"), whole(in, "page"), whole(in, "element_bytes")));
  } else {
    const auto share = pieces.per_gpu(c, whole(in, "gpus"), whole(in, "context"), whole(in, "weight_bytes"),
                                      whole(in, "element_bytes"));
    output(rec, "parameter_bytes", share.parameter_bytes);
    output(rec, "cache_bytes", share.cache_bytes);
  }
}

}  // namespace lesson_22
