// A program of somebody else's: the installed library continues a text with a model.
#include <cstdio>
#include <exception>
#include <rungs/generate/generate.hpp>
#include <rungs/ops/cpu_ops.hpp>
#include <rungs/tokenizer/tokenizer.hpp>
#include <string>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: story MODEL TEXT\n");
    return 2;
  }
  try {
    rungs::CpuOps ops;
    const auto model = rungs::load_model(ops, argv[1]);
    const auto tokenizer = rungs::load_tokenizer(argv[1]);

    std::vector<int32_t> prompt = tokenizer->encode(argv[2]);
    if (tokenizer->bos()) prompt.insert(prompt.begin(), *tokenizer->bos());
    rungs::GenerateOptions options;
    options.stop = model->config().eos;
    rungs::generate(*model, {prompt}, options,
                    [&](const rungs::Step& step) { std::fputs(tokenizer->bytes_of(step.token).c_str(), stdout); });
    std::puts("");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
