#include "cli.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

static std::string tokenize(const std::string& name) {
  return "tokenize --tokenizer '" RUNGS_SOURCE_DIR "/weights/tokenizers/" + name + "' ";
}

TEST_CASE("tokenize shows tokens, ids and how many bytes a token holds") {
  for (const std::string name : {"sentencepiece", "tiktoken", "bytelevel"}) {
    const Outcome run = run_rungs(tokenize(name) + "--text 'Once upon a time, caf\u00e9 \u4f60'");
    CHECK(run.status == 0);
    CHECK(run.err == "");
    CHECK(run.out == golden("tokenize_" + name, run.out));
    CHECK(run.out.find('\033') == std::string::npos);  // a pipe gets no colour
  }
}

TEST_CASE("what --json prints can be decoded again") {
  const std::string command = tokenize("bytelevel"), text = "It's  a caf\u00e9 <eos>";
  const std::string ids = run_rungs(command + "--json --no-bos --text \"" + text + "\"").out;
  CHECK(run_rungs(command + "--decode '" + ids + "'").out == text + "\n");
  const Folder folder;
  write_file(folder / "text", text);
  CHECK(run_rungs(command + "--json --no-bos --file " + (folder / "text").string()).out == ids);
  CHECK(run_rungs(command + "--json --text '<eos>' --specials").out == "[0,1]\n");
  CHECK(run_rungs(command + "--json --text ''").out == "[0]\n");
  CHECK(run_rungs(command + "--json --text '' --no-bos").out == "[]\n");
  CHECK(run_rungs(command + "--decode 0,1 --json").out == "\"\"\n");
}

TEST_CASE("what tokenize cannot do is said in one sentence") {
  const std::string command = tokenize("tiktoken");
  check_fails(command, 2, "rungs tokenize needs one of --text, --file, --decode");
  check_fails(command + "--decode 1,x", 2, "--decode: wanted ids such as 1,2,3, found \"x\"");
  check_fails(command + "--decode 99999999999", 2, "--decode: wanted ids such as 1,2,3, found \"99999999999\"");
  check_fails("tokenize --text a", 2, "--tokenizer is required");
  check_fails("tokenize --tokenizer /none.json --text a", 3, "/none.json: cannot be opened: No such file or directory");
}

TEST_SUITE_END();
