// rungs inspect, convert and random-model.
#include <nlohmann/json.hpp>

#include "cli.hpp"
#include "contains.hpp"
#include "rungs/model/memory_estimate.hpp"
#include "rungs/model/model.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/npy.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

namespace {

const std::string checkpoints = (weights_directory() / "references/checkpoints").string() + "/";
const std::string models = (weights_directory() / "references/models").string() + "/";

/// Paths of this machine do not belong into a golden file.
std::string without_paths(std::string text) {
  const std::string root = (weights_directory() / "references").string();
  for (size_t at = 0; (at = text.find(root, at)) != std::string::npos;) text.replace(at, root.size(), "REFERENCES");
  return text;
}

void check_golden(const std::string& arguments, const std::string& name) {
  const Outcome run = run_rungs(arguments);
  CHECK(run.status == 0);
  CHECK(run.err == "");
  const std::string out = without_paths(run.out);
  CHECK(out == golden(name, out));
}

void convert(const std::string& from, const std::filesystem::path& to, const std::string& more = "") {
  const Outcome run = run_rungs("convert " + from + " " + to.string() + " " + more);
  CHECK(run.out + run.err == "");
  REQUIRE(run.status == 0);
}

/// Logits of the reference's tokens, as bits.
std::string logits(const std::filesystem::path& model, const std::string& tokens) {
  const Folder folder;
  const std::string out = folder / "logits.npy";
  const Outcome run = run_rungs("logits --model " + model.string() + " --tokens " + tokens + " --out " + out);
  CHECK(run.err == "");
  REQUIRE(run.status == 0);
  return read_text(out);
}

/// Counts what a model asks its device for.
struct CountingOps : CpuOps {
  int64_t bytes = 0;
  Tensor allocate(const Shape& shape, DType dtype) override {
    bytes += shape.count() * int64_t(bytes_of(dtype));
    return CpuOps::allocate(shape, dtype);
  }
};

}  // namespace

TEST_CASE("inspect shows config, tensors and memory of a directory, of shards, of a .bin and of a bare file") {
  check_golden("inspect " + models + "llama_llama3 --context 40 --batch 3", "inspect_llama");
  check_golden("inspect " + checkpoints + "sharded_bf16", "inspect_shards");
  check_golden("inspect " + checkpoints + "bin_2/model.bin", "inspect_bin");
  check_golden("inspect " + checkpoints + "single_f16/model.safetensors", "inspect_bare");
  check_golden("inspect " + models + "tiny_a", "inspect_decoder");
  check_golden("inspect " + checkpoints + "bin_1_tied/model.bin --json", "inspect_json");
}

TEST_CASE("what inspect says of memory is what a model and its cache ask for") {
  for (const std::string& path : {models + "llama_llama3", models + "llama_wide", models + "tiny_a"}) {
    CountingOps ops;
    const auto model = load_model(ops, path, {.max_rows = 7});
    const int64_t scratch = ops.bytes;
    const Config& c = model->config();
    const MemoryEstimate f = memory_estimate(c, 3, 9, 7);
    CHECK(f.scratch == scratch + 3 * c.vocab_size * 4);
    const KvCache cache(ops, c, 3, 9);
    CHECK(f.cache == ops.bytes - scratch);
    CHECK(f.rope_tables == (c.rotary ? 9 * c.head_dim * 4 : 0));
  }
}

TEST_CASE("a .bin becomes a directory and the same .bin again") {
  const Folder folder;
  for (const std::string name : {"bin_1", "bin_1_tied"}) {
    const std::string bin = checkpoints + name + "/model.bin", tokens = checkpoints + name + "/tokens.npy";
    const auto directory = folder / name, back = folder / (name + ".bin");
    convert(bin, directory);
    CHECK(logits(directory, tokens) == logits(bin, tokens));
    convert(directory.string(), back);
    CHECK(read_text(back) == read_text(bin));
    convert(bin, folder / (name + "_0.bin"), "--bin-version 0");
    CHECK(logits(folder / (name + "_0.bin"), tokens) == logits(bin, tokens));
    convert(folder / (name + "_0.bin"), folder / (name + "_1.bin"));
    CHECK(read_text(folder / (name + "_1.bin")) == read_text(bin));
  }
}

TEST_CASE("int8 becomes the f32 that it stands for") {
  const Folder folder;
  const std::string bin = checkpoints + "bin_2/model.bin", tokens = checkpoints + "bin_2/tokens.npy";
  convert(bin, folder / "hf");
  CHECK(logits(folder / "hf", tokens) == logits(bin, tokens));
}

TEST_CASE("shards become one file, in their dtype or a wider one, and narrow again only without loss") {
  const Folder folder;
  const std::string shards = checkpoints + "sharded_bf16", tokens = shards + "/tokens.npy";
  convert(shards, folder / "one");
  CHECK(logits(folder / "one", tokens) == logits(shards, tokens));
  convert(shards, folder / "wide", "--dtype f32");
  const SafeTensors wide(folder / "wide/model.safetensors");
  CHECK(wide.get("model.norm.weight").dtype() == DType::f32);
  convert(folder / "wide", folder / "narrow", "--dtype bf16");
  CHECK(read_text(folder / "narrow/model.safetensors") == read_text(folder / "one/model.safetensors"));
  CHECK(nlohmann::json::parse(read_text(folder / "wide/config.json"))["torch_dtype"] == "float32");
  CHECK(nlohmann::json::parse(read_text(folder / "one/config.json")) ==
        nlohmann::json::parse(read_text(shards + "/config.json")));

  const Outcome run =
      run_rungs("convert " + checkpoints + "sharded_f32 " + (folder / "lost").string() + " --dtype bf16");
  CHECK(run.status == 2);
  CHECK(run.err.find("which bf16 cannot hold: it would be ") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "lost"));
}

TEST_CASE("convert quantizes into a GGUF file, says the error of each tensor, and the file generates") {
  const Folder folder;
  const std::string stories = (weights_directory() / "stories").string(), q4 = folder / "q4.gguf",
                    f32 = folder / "f32.gguf";
  const Outcome table = run_rungs("convert " + stories + " " + q4 + " --dtype q4_0");
  CHECK(table.status == 0);
  CHECK(table.err == "");
  std::string out = table.out;
  out.replace(out.find(q4), q4.size(), "q4.gguf");
  CHECK(out == golden("convert_q4_0", out));

  const Outcome converted = run_rungs("convert " + stories + " " + f32 + " --json");
  const auto report = nlohmann::json::parse(converted.out);
  CHECK(report["bytes"].get<uint64_t>() < std::filesystem::file_size(f32));
  CHECK(report["quantized"].empty());
  const std::string prompt = " --prompt 'Once upon a time' --max-tokens 30 --temperature 0";
  CHECK(run_rungs("generate --model " + f32 + prompt).out == run_rungs("generate --model " + stories + prompt).out);
  const Outcome text = run_rungs("generate --model " + q4 + prompt);
  CHECK(text.err == "");
  CHECK(text.out.find(", there was a ") != std::string::npos);
  CHECK(run_rungs("tokenize --tokenizer " + q4 + " --text 'a red kite'").out ==
        run_rungs("tokenize --tokenizer " + stories + " --text 'a red kite'").out);
  CHECK(run_rungs("calc memory --model " + q4).out.find("\n0.6964 bytes a weight") != std::string::npos);
}

TEST_CASE("f16 takes values below its normal range, rounded and with the error said, and none that is too large") {
  const Folder folder;
  const std::string stories = (weights_directory() / "stories").string(), half = folder / "half.gguf";
  const Outcome run = run_rungs("convert " + stories + " " + half + " --dtype f16 --json");
  CHECK(run.err == "");
  REQUIRE(run.status == 0);
  const auto report = nlohmann::json::parse(run.out);
  CHECK_FALSE(report["quantized"].empty());
  for (const auto& tensor : report["quantized"]) {
    CHECK(tensor["dtype"] == "f16");
    CHECK(tensor["largest_error"] > 0);         // others stay as they are
    CHECK(tensor["largest_error"] <= 0x1p-25);  // half a step of the subnormals; what is normal in bf16 is so in f16
  }
  const std::string prompt = " --prompt 'Once upon a time' --max-tokens 30 --temperature 0";
  CHECK(run_rungs("generate --model " + half + prompt).out == run_rungs("generate --model " + stories + prompt).out);
  const Outcome table = run_rungs("convert " + stories + " " + (folder / "again.gguf").string() + " --dtype f16");
  CHECK(table.out == Contains("% of the weights, as roots of mean squares."));
  CHECK(table.out.find(" 0.000%") == std::string::npos);

  const std::string plain = folder / "plain", from = folder / "from", to = folder / "to.gguf";
  const std::string q = "model.layers.0.self_attn.q_proj.weight";
  REQUIRE(run_rungs("convert " + stories + " " + plain + " --dtype f32").status == 0);
  std::filesystem::copy(plain, from);
  const auto refused = [&](float value, const std::string& why, const std::string& dtype = "f16") {
    std::map<std::string, Tensor> tensors;
    const SafeTensors file(plain + "/model.safetensors");
    for (const std::string& name : file.names()) tensors.emplace(name, file.get(name).copy());
    tensors.at(q).flat(5) = value;
    save_safetensors(from + "/model.safetensors", tensors);
    check_fails("convert " + from + " " + to + " --dtype " + dtype, 2, q + ": " + why);
    CHECK_FALSE(std::filesystem::exists(to));
  };
  refused(1e6f, "element 5 is 1000000, which is too large for f16");
  refused(65520, "element 5 is 65520, which is too large for f16");
  refused(std::numeric_limits<float>::quiet_NaN(), "f16 needs finite weights, and element 5 is nan");
  refused(std::numeric_limits<float>::infinity(), "f16 needs finite weights, and element 5 is inf");
  refused(std::numeric_limits<float>::quiet_NaN(), "q8_0 needs finite weights, and element 5 is nan", "q8_0");
  refused(1e9f, "element 5 is 1000000000, which is too large for q8_0", "q8_0");  // not element 0, whose scale it makes
}

TEST_CASE("what convert cannot quantize, or the tokenizer that GGUF cannot hold, is a sentence") {
  const Folder folder;
  const std::string gguf = folder / "m.gguf";
  check_fails("convert " + checkpoints + "sharded_f32 " + gguf + " --dtype q5_0", 2,
              "dtype: wanted f32, bf16, f16, q8_0 or q4_0, found \"q5_0\"");
  check_fails("convert " + checkpoints + "gguf_q8_0/model.gguf " + gguf + " --dtype q4_0", 2,
              "model.layers.0.self_attn.q_proj.weight: it is q8_0 already, and q4_0 of that would lose twice");
  const Outcome run = run_rungs("convert " + checkpoints + "sharded_f32 " + gguf + " --dtype q8_0");
  CHECK(run.status == 0);
  CHECK(run.out.find("of the matrices stayed as they were, as no block of 32 divides their rows: blk.0.") !=
        std::string::npos);
  CHECK(run.err ==
        "rungs: " + gguf + " has no tokenizer: " + checkpoints +
            "sharded_f32/tokenizer.json: wanted a SentencePiece model or a tokenizer.json, for which GGUF has "
            "names; give commands that need one --tokenizer\n");
}

TEST_CASE("what a .bin has no place for is refused, and so is writing over a model") {
  const Folder folder;
  const std::string bin = folder / "m.bin";
  const auto fails = [&](const std::string& name, const std::string& what) {
    check_fails("convert " + name + " " + bin, 2, bin + ": a .bin has no place for " + what);
  };
  fails(models + "llama_linear", "rope scaling: llama2.c has none");
  fails(models + "llama_gqa", "a rope theta of 500000: llama2.c has 10000");
  fails(checkpoints + "sharded_f32", "4 heads of 6: llama2.c has heads that share 16 channels");
  check_fails("convert " + checkpoints + "bin_1/model.bin " + bin + " --dtype bf16", 2,
              bin + ": a .bin holds f32, not bf16");
  check_fails("convert " + checkpoints + "bin_1/model.bin " + bin + " --bin-version 2", 2,
              "a .bin is written in version 0 or 1, not 2");
  check_fails("convert " + models + "tiny_a " + bin, 2,
              models + "tiny_a: wanted a model of type \"llama\", found \"rungs_decoder\"");
  write_file(bin, "something");
  check_fails("convert " + checkpoints + "bin_1/model.bin " + bin, 2,
              bin + ": wanted a place for a new model, found one there");
  CHECK(read_text(bin) == "something");
  CHECK(folder.files() == std::vector<std::string>{"m.bin"});
}

TEST_CASE("the files beside the weights go along, and those that another model left are neither kept nor replaced") {
  const Folder folder;
  const std::string from = folder / "from", to = folder / "to", says = "; move it away, or convert to another folder";
  std::filesystem::copy(models + "llama_mha", from);
  write_file(from + "/tokenizer.json", "ours");
  write_file(from + "/chat_template.jinja", "a template");
  std::filesystem::create_directory(to);
  const auto refused = [&](const std::string& name, const std::string& why) {
    const std::string path = write_file(to + "/" + name, "another's");
    check_fails("convert " + from + " " + to, 2, path + ": wanted " + why + says);
    CHECK(read_text(path) == "another's");
    CHECK_FALSE(std::filesystem::exists(to + "/model.safetensors"));
    std::filesystem::remove(path);
  };
  refused("tokenizer.json", "the same as " + from + "/tokenizer.json, found one that differs");
  refused("generation_config.json", "the same as " + from + "/generation_config.json, found one that differs");
  refused("tokenizer.model", "none, as where the model comes from, found one");
  write_file(to + "/tokenizer.json", "ours");
  convert(from, to);
  for (const std::string name : {"/tokenizer.json", "/chat_template.jinja", "/generation_config.json"})
    CHECK(read_text(to + name) == read_text(from + name));

  write_file(from + "/tokenizer.bin", "ours");
  convert(from, from + "/a.bin");
  const std::string other = folder / "other";
  std::filesystem::create_directory(other);
  write_file(other + "/tokenizer.bin", "another's");
  check_fails("convert " + from + "/a.bin " + other + "/a.bin", 2,
              other + "/tokenizer.bin: wanted the same as " + from + "/tokenizer.bin, found one that differs" + says);
  CHECK_FALSE(std::filesystem::exists(other + "/a.bin"));
  std::filesystem::remove(from + "/tokenizer.bin");
  convert(from + "/a.bin", other + "/a.bin");  // which has none: that one may be meant for it
}

TEST_CASE("a tokenizer that does not go along with a .bin is named") {
  const Folder folder;
  const std::string from = folder / "from", bin = folder / "m.bin";
  std::filesystem::copy(models + "llama_mha", from);
  convert(from, folder / "none.bin");
  write_file(from + "/tokenizer.model", "");
  const auto lost = [&](const std::string& there) {
    return from + ": wanted tokenizer.bin, the only one that goes along with a .bin, found tokenizer.model" + there;
  };
  const Outcome run = run_rungs("convert " + from + " " + bin);
  CHECK(run.status == 0);
  CHECK(run.err == "rungs: " + bin + " has no tokenizer: " + lost("") + "; give commands that need one --tokenizer\n");
  write_file(folder / "tokenizer.bin", "");
  const Outcome report = run_rungs("convert " + from + " " + (folder / "n.bin").string() + " --json");
  CHECK(nlohmann::json::parse(report.out)["no_tokenizer"] ==
        lost(" (" + (folder / "tokenizer.bin").string() + " was there before)"));
  write_file(from + "/tokenizer.bin", "");
  convert(from, folder / "with.bin");
}

TEST_CASE("a name that no model's folder can have, or an option that does not apply, is refused") {
  const Folder folder;
  const auto refused = [&](const std::string& command, const std::string& ending, const std::string& slash = "") {
    const std::string to = folder / "x";
    check_fails(command + " " + to + ending + slash, 2,
                to + ending + ": wanted the name of a folder, found one that ends in " + ending + "; type " + to +
                    "; `rungs convert` takes FILE.gguf and FILE.bin, too");
  };
  refused("random-model", ".gguf");
  refused("random-model", ".bin");
  refused("random-model", ".safetensors");
  refused("convert " + models + "llama_mha", ".safetensors");
  refused("convert " + models + "llama_mha", ".gguf", "/");
  for (const std::string name : {"x", "x.gguf"})
    for (const std::string version : {"7", "1"})
      check_fails("convert " + models + "llama_mha " + (folder / name).string() + " --bin-version " + version, 2,
                  "bin-version: wanted a place that ends in .bin, to which alone it applies, found " +
                      (folder / name).string());
  CHECK(folder.files().empty());
}

TEST_CASE("a random model is never written over another, nor so that it cannot be read") {
  const Folder folder;
  const std::string mine = folder / "mine", path = folder / "new";
  std::filesystem::copy(models + "llama_mha", mine);
  check_fails("random-model " + mine, 2, mine + ": wanted a place for a new model, found one there");
  for (const char* name : {"/config.json", "/model.safetensors"})
    CHECK(read_text(mine + name) == read_text(models + "llama_mha" + name));
  check_fails(
      "random-model " + path + " --context 2000000000", 2,
      path + "/config.json: max_position_embeddings: wanted a whole number from 1 to 16777216, found 2000000000");
  CHECK(!std::filesystem::exists(path));
  const std::string deep = folder / "a/b/c";
  CHECK(run_rungs("random-model " + deep + " --context 2000000000").status == 2);
  CHECK_FALSE(std::filesystem::exists(folder / "a"));
  std::filesystem::create_directory(path);
  CHECK(run_rungs("random-model " + path + "/b --context 2000000000").status == 2);
  CHECK(std::filesystem::is_empty(path));  // the one that was there before stays
}

TEST_CASE("files that are none are refused with one sentence") {
  const Folder folder;
  const std::string path = folder / "none";
  check_fails("inspect " + path, 3, path + "/config.json: cannot be opened: No such file or directory");
  write_file(folder / "short.bin", "abc");
  check_fails("inspect " + (folder / "short.bin").string(), 3,
              (folder / "short.bin").string() + ": wanted a llama2.c file, found 3 bytes");
  check_fails("inspect " + models + "llama_mha --context 25", 2,
              "context: wanted from 1 to 24, which the model knows, found 25");
  check_fails("inspect " + models + "llama_mha --batch 0", 2, "batch: wanted from 1 to 1048576, found 0");
  check_fails("inspect '" + path + "\x1b[2J\n'", 3,
              path + " [2J /config.json: cannot be opened: No such file or directory");
  check_fails("inspect weights --" + std::string(1 << 16, 'x'), 2,
              ("rungs inspect has no option --" + std::string(1 << 16, 'x')).substr(0, 2000) + "...");
  check_fails(
      "random-model " + path + " --shape 7b", 2,
      "shape: wanted Llama-2-7B, Llama-2-13B, Llama-2-70B, Llama-3-8B, Llama-3-70B, Llama-3.2-1B, Llama-3.2-3B, "
      "TinyLlama, stories15M, stories110M, found \"7b\"");
  check_fails("random-model " + path + " --dtype f16", 2, "dtype: wanted f32 or bf16, found \"f16\"");
}

TEST_CASE("a path that is no UTF-8 can be inspected, and JSON stays JSON") {
  const Folder folder;
  const std::string path = folder / "m\xFF.safetensors";
  std::filesystem::copy(models + "llama_mha/model.safetensors", path);
  const Outcome run = run_rungs("inspect '" + path + "' --json");
  CHECK(run.err == "");
  CHECK(nlohmann::json::parse(run.out)["path"].get<std::string>().ends_with("m\uFFFD.safetensors"));
}

TEST_CASE("a random model is the same for the same seed, and runs") {
  const Folder folder;
  for (const std::string name : {"a", "b", "c"}) {
    const Outcome run = run_rungs("random-model " + (folder / name).string() +
                                  " --shape stories15M --context 40 --seed " + (name == "c" ? "1" : "0"));
    CHECK(run.err == "");
    REQUIRE(run.status == 0);
  }
  const std::string a = read_text(folder / "a/model.safetensors");
  CHECK(a == read_text(folder / "b/model.safetensors"));
  CHECK(a != read_text(folder / "c/model.safetensors"));
  CpuOps ops;
  const auto model = load_model(ops, folder / "a", {.max_rows = 3});
  CHECK(model->config().max_seq_len == 40);
  Batch batch;
  batch.add(0, std::vector<int32_t>{1, 500, 31999}, 0, false);
  Tensor logits({3, 32000});
  model->forward(logits, batch, nullptr);
  double sum = 0;
  for (int64_t i = 0; i < logits.count(); ++i) sum += double(logits.flat(i)) * logits.flat(i);
  const double spread = std::sqrt(sum / double(logits.count()));
  CHECK(spread > 0.5);
  CHECK(spread < 2);
}

TEST_SUITE_END();
