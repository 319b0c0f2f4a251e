#include "rungs/model/config.hpp"

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("model");

/// The fields of a good config.json; a test changes one of them.
static std::string config_json(const std::string& field, const std::string& value) {
  const std::pair<std::string, std::string> fields[] = {{"model_type", "\"rungs_decoder\""},
                                                        {"max_position_embeddings", "24"},
                                                        {"hidden_size", "12"},
                                                        {"head_dim", "8"},
                                                        {"intermediate_size", "20"},
                                                        {"num_hidden_layers", "2"},
                                                        {"vocab_size", "29"},
                                                        {"layer_norm_eps", "1e-05"},
                                                        {"bos_token_id", "0"},
                                                        {"eos_token_id", "1"},
                                                        {"torch_dtype", "\"float32\""}};
  std::string text;
  for (const auto& [name, good] : fields) {
    const std::string& now = name == field ? value : good;
    if (!now.empty()) text += (text.empty() ? "{\"" : ", \"") + name + "\": " + now;
  }
  return text + "}";
}

static Config load(const Folder& folder, const std::string& text) {
  write_file(folder / "config.json", text);
  return load_config(folder.path());
}

TEST_CASE("a config is read field by field") {
  const Folder folder;
  const Config c = load(folder, config_json("", ""));
  CHECK(c.model_type == "rungs_decoder");
  CHECK(c.max_seq_len == 24);
  CHECK(c.hidden_size == 12);
  CHECK(c.head_dim == 8);
  CHECK(c.intermediate_size == 20);
  CHECK(c.num_layers == 2);
  CHECK(c.vocab_size == 29);
  CHECK(c.epsilon == 1e-5f);
  CHECK(c.bos == 0);
  CHECK(c.eos == std::vector<int32_t>{1});
  CHECK(load(folder, config_json("bos_token_id", "")).bos == -1);
  CHECK(load(folder, config_json("eos_token_id", "")).eos.empty());
}

TEST_CASE("a field that is missing, of another type or out of range is refused by name") {
  const Folder folder;
  for (const std::string field : {"max_position_embeddings", "hidden_size", "head_dim", "intermediate_size",
                                  "num_hidden_layers", "vocab_size", "layer_norm_eps", "model_type"}) {
    CHECK_THROWS_WITH_AS(load(folder, config_json(field, "")),
                         Contains(("config.json: " + field + ": wanted a value, found none").c_str()), FileError);
    for (const std::string value : {"null", "\"12\"", "-1", "[1]", "{}", "true", "1e300"})
      CHECK_THROWS_WITH_AS(load(folder, config_json(field, value)),
                           Contains(("config.json: " + field + ": wanted ").c_str()), FileError);
  }
  for (const std::string field :
       {"max_position_embeddings", "hidden_size", "head_dim", "intermediate_size", "vocab_size"})
    for (const std::string value : {"0", "1.5", "16777217", "9223372036854775807", "18446744073709551615"})
      CHECK_THROWS_WITH_AS(load(folder, config_json(field, value)),
                           Contains((field + ": wanted a whole number from 1 to 16777216, found " + value).c_str()),
                           FileError);
  for (const std::string field : {"bos_token_id", "eos_token_id"})
    for (const std::string value : {"29", "-1", "\"0\"", "{}", "18446744073709551615"})
      CHECK_THROWS_WITH_AS(load(folder, config_json(field, value)),
                           Contains((field + ": wanted a whole number from 0 to 28, found " + value).c_str()),
                           FileError);
  CHECK_THROWS_AS(load(folder, config_json("num_hidden_layers", "4097")), FileError);
  for (const std::string value : {"0", "1", "0.0", "-1e-5"})
    CHECK_THROWS_WITH_AS(load(folder, config_json("layer_norm_eps", value)),
                         Contains("wanted a number between 0 and 1"), FileError);
  CHECK_THROWS_WITH_AS(load(folder, config_json("model_type", "\"mistral\"")),
                       Contains("model_type: wanted \"llama\" or \"rungs_decoder\", found \"mistral\""), FileError);
}

TEST_CASE("a config that is not a JSON object is refused by name") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(load_config(folder.path()), Contains("config.json: cannot be opened"), FileError);
  CHECK_THROWS_WITH_AS(load(folder, ""), Contains("config.json: is not JSON: byte 1"), FileError);
  CHECK_THROWS_WITH_AS(load(folder, "[]"), Contains("config.json: wanted an object, found array"), FileError);
  CHECK_THROWS_WITH_AS(load(folder, std::string(1000000, '[')), Contains("nested more than"), FileError);
  CHECK_THROWS_WITH_AS(load(folder, R"({"hidden_size": 8, "hidden_size": 16})"),
                       Contains("config.json: \"hidden_size\": wanted each key once, found it twice"), FileError);
  CHECK_THROWS_WITH_AS(load(folder, R"({"rope_scaling": {"factor": 2, "factor": 4}})"),
                       Contains("\"factor\": wanted each key once"), FileError);
  CHECK_THROWS_WITH_AS(load(folder, R"({"a": [{"x": 1}, {"x": 2}], "b": {"x": 1}, "model_type": 3})"),
                       Contains("model_type: wanted "), FileError);
  CHECK_THROWS_WITH_AS(load(folder, config_json("hidden_size", "1e999")), Contains("a number is too large"), FileError);
  const std::string good = config_json("", "");
  for (size_t size = 0; size < good.size(); ++size)
    CHECK_THROWS_WITH_AS(load(folder, good.substr(0, size)), Contains("is not JSON"), FileError);
}

TEST_SUITE_END();
