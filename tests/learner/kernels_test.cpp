// What a learner types in a lesson about CUDA, and what the checker says of their kernels.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "contains.hpp"
#include "learner/learner.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

const std::string matmul = "17_cuda_matmul";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  REQUIRE(at != text.npos);
  return text.replace(at, what.size(), by);
}

/// "17_cuda_matmul.cu:41" for the first line of `code` that holds `text`.
std::string line_with(const std::string& code, const std::string& text) {
  const size_t at = code.find(text);
  REQUIRE(at != code.npos);
  return "17_cuda_matmul.cu:" + std::to_string(1 + std::count(code.begin(), code.begin() + std::ptrdiff_t(at), '\n'));
}

/// Without the line breaks of the screen.
std::string on_one_line(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)))
      out += c;
    else if (!out.ends_with(' '))
      out += ' ';
  return out;
}

}  // namespace

TEST_SUITE_BEGIN("learner");

TEST_CASE("a missing barrier: the verdict names the two lines that race and the mistake") {
  Learner learner;
  const std::string barrier = "\n    __syncthreads();", sums = "for (int k = 0; k < side; ++k) sum +=";
  std::string code = solution_of(matmul);
  code.erase(code.find(barrier, code.find(sums)), barrier.size());  // the second one
  learner.writes(matmul, code);
  CHECK(learner.types("check 17") == 1);
  const std::string said = on_one_line(learner.text);
  CHECK(said == Contains("tiled_kernel, block ("));
  CHECK(said == Contains("race: this thread"));
  CHECK(said == Contains(line_with(code, sums).c_str()));
  CHECK(said == Contains(line_with(code, "a_tile[y][x] = ").c_str()));
  CHECK(said == Contains("a thread fills the next tiles while others still read these: a barrier is missing"));

  learner.writes(matmul, replaced(solution_of(matmul), "    __syncthreads();\n    " + sums, "    " + sums));
  CHECK(learner.types("check 17") == 1);
  CHECK(on_one_line(learner.text) == Contains("a thread multiplies before the others have filled the tiles"));
}

TEST_CASE("a fault of another kind is not given a name") {
  Learner learner;
  learner.writes(matmul,
                 replaced(solution_of(matmul), "if (row < M && column < N) c[size_t(row) * N + column] = sum;",
                          "if (row < M && column < N) c[size_t(row) * N + column] = sum + a_tile[y][x + side];"));
  CHECK(learner.types("check 17") == 1);
  CHECK(learner.text == Contains("None of the"));
}

TEST_CASE("a half-written kernel is checked as far as it goes") {
  Learner learner;
  REQUIRE(learner.types("start 17") == 0);
  CHECK(learner.text == Contains("17_cuda_matmul.cu"));
  const std::string starter = read_text(learner.file(matmul)), solved = solution_of(matmul);
  const size_t from = solved.find("  const int row = "), to = solved.find("  // <<<");
  const size_t line = starter.find("  // step 1 of"), end = starter.find("}\n", line);
  learner.writes(matmul, starter.substr(0, line) + solved.substr(from, to - from) + starter.substr(end));
  CHECK(learner.types("check 17") == 1);
  CHECK(learner.text == Contains("matmul_coalesced    9 of 9 right"));
  CHECK(learner.text == Contains("The next thing to write is\n      step 2 of 15: fill element"));
  CHECK(learner.types("reset 17") == 0);
  CHECK(std::filesystem::exists(learner.work / "17_cuda_matmul.before_reset_1.cu"));
}

TEST_CASE("a kernel without end is stopped") {
  Learner learner;
  learner.writes("16_cuda_first",
                 replaced(solution_of("16_cuda_first"), "  if (i < n) out[i]", "  while (i < n) out[i]"));
  CHECK(learner.types("check 16") == 1);
  CHECK(learner.text == Contains("endless loop?"));
  CHECK(learner.text == Contains("The 19 cases after it were not run."));
}

TEST_CASE("profile shows what the page shows: for the solution, and for a learner's file") {
  Learner learner;
  REQUIRE(learner.types("profile 17") == 0);
  CHECK(learner.out == read_text(lesson_called(matmul).source / "profile.txt"));

  learner.writes(matmul, replaced(solution_of(matmul), "a_tile[big][depth], b", "a_tile[big][depth + 1], b"));
  REQUIRE(learner.types("profile 17 --json") == 0);
  const auto report = nlohmann::json::parse(learner.out);
  CHECK(report["functions"].size() == 5);
  const std::string read = line_with(read_text(learner.file(matmul)), "a_k[i] = a_tile");
  for (const auto& line : report["functions"][2]["lines"])  // the page's exercise: no conflict here any more
    if (read.ends_with(":" + std::to_string(line["line"].get<int>()))) CHECK_FALSE(line["wasteful"].get<bool>());
  CHECK(learner.types("profile 6") == 2);
  CHECK(learner.text == Contains("06_causal_mask has no kernels"));
}

TEST_CASE("profile draws a line: the one that wastes most, or the one that is asked for") {
  Learner learner;
  const std::string picture = (learner.work / "picture.svg").string();
  REQUIRE(learner.types("profile 17 --svg " + picture) == 0);
  CHECK(learner.text == Contains(": line 95 of lessons/17_cuda_matmul/solution.cu, which wastes most"));
  std::string svg = read_text(picture);
  CHECK(svg == Contains("global store of 4 bytes by 32 lanes: 16 sectors, and 4 would do"));
  CHECK(svg == Contains("byte 48: lane 3"));  // four floats after lane 2

  REQUIRE(learner.types("profile 17 --line 84 --svg " + picture) == 0);
  svg = read_text(picture);
  CHECK(svg == Contains("b_k[j] = b_tile[k][x * each + j];"));
  CHECK(svg == Contains("shared load of 4 bytes by 32 lanes: 2 waves, and 1 would do"));
  CHECK(svg == Contains("lanes 0, 16"));  // they want one word

  // Lesson 19 calls a kernel of lesson 18, whose file has the same name.
  REQUIRE(learner.types("profile 19 --svg " + picture) == 0);
  CHECK(learner.text == Contains("--line N draws another: 15, 27, 28, 39, 41, 67,"));
  REQUIRE(learner.types("profile 17 --line 84 --svg " + picture) == 0);

  CHECK(learner.types("profile 17 --line 1 --svg " + picture) == 2);
  CHECK(on_one_line(learner.text) ==
        Contains("--line 1: no access to memory was counted on that line of lessons/17_cuda_matmul/solution.cu"));
  CHECK(learner.types("profile 17 --line 84") == 2);
  CHECK(learner.text == Contains("--line says what to draw"));
  CHECK(read_text(picture) == svg);
}

TEST_CASE("the host's code cannot read or write device memory") {
  const std::string copy = "CUDA_CHECK(cudaMemcpy(out, device_out, bytes, cudaMemcpyDeviceToHost));",
                    fill = "CUDA_CHECK(cudaMemcpy(device_x, x, bytes, cudaMemcpyHostToDevice));";
  for (const auto& [from, to] : {std::pair(copy, "for (int i = 0; i < n; ++i) out[i] = device_out[i];"),
                                 std::pair(fill, "for (int i = 0; i < n; ++i) device_x[i] = x[i];")}) {
    Learner learner;
    learner.writes("16_cuda_first", replaced(solution_of("16_cuda_first"), from, to));
    CHECK(learner.types("check 16") == 1);
    CHECK(on_one_line(learner.text) ==
          Contains("the host's code reads or writes device memory, which it cannot reach: cudaMemcpy copies it"));
    CHECK(learner.text.find("nown mistake") == std::string::npos);
  }
}

TEST_CASE("a right product that the host computed between two copies is no kernel's work") {
  const std::string launched = "launch(tiled_kernel, {grid, block, 0, stream}, c, a, b, M, N, K);";
  const std::string on_the_host = R"((void)grid, (void)block, (void)stream;
  std::vector<float> x(size_t(M) * K), y(size_t(K) * N), sums(size_t(M) * N);
  CUDA_CHECK(cudaMemcpy(x.data(), a, x.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(y.data(), b, y.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int m = 0; m < M; ++m)
    for (int k = 0; k < K; ++k)
      for (int n = 0; n < N; ++n) sums[size_t(m) * N + n] += x[size_t(m) * K + k] * y[size_t(k) * N + n];
  CUDA_CHECK(cudaMemcpy(c, sums.data(), sums.size() * sizeof(float), cudaMemcpyHostToDevice));)";
  Learner learner;
  learner.writes(matmul, "#include <vector>\n" + replaced(solution_of(matmul), launched, on_the_host));
  CHECK(learner.types("check 17") == 1);
  CHECK(learner.text == Contains("matmul_coalesced    9 of 9 right"));
  CHECK(on_one_line(learner.text) == Contains("no kernel was launched: wanted one that computes this case"));
  CHECK(learner.text == Contains("c is right."));
}

TEST_CASE("what nvcc makes of a file is checked without a GPU: its bounds, and values that nobody wrote") {
  Learner learner;
  const std::string right = solution_of(matmul), sums = "sum += a_tile[y][k] * b_tile[k][x];";
  learner.writes(matmul, right);
  if (learner.types("check 17 --on ptx") == 2) {
    CHECK(learner.text == Contains("--on ptx runs what nvcc makes of your file: "));
    MESSAGE("SKIPPED: ", learner.text);
    return;
  }
  CHECK(learner.text == Contains("Pass rate: 100.00% (46/46)"));
  CHECK(learner.types("progress") == 0);
  CHECK(learner.text == Contains("0 of "));  // nobody has looked for races

  learner.writes(matmul, replaced(right, sums, "sum += a_tile[y][k] * b_tile[k + 40][x];"));
  CHECK(learner.types("check 17 --on ptx") == 1);
  CHECK(on_one_line(learner.text) == Contains("4 bytes at 9216 of 8192 bytes of shared memory"));

  learner.writes(matmul,
                 replaced(right, "    __syncthreads();\n    for (int k = 0; k < side", "    for (int k = 0; k < side"));
  CHECK(learner.types("check 17 --on ptx") == 1);
  CHECK(learner.text == Contains("6 of 6 values of c are wrong, 6 not a number."));
  CHECK(learner.text == Contains("check 17` looks for races, too"));

  learner.writes(matmul, replaced(right, sums, "    not_written(\"step 3\");"));
  CHECK(learner.types("check 17 --on ptx") == 2);
  CHECK(learner.text == Contains("has steps that are not written yet"));
  CHECK(learner.types("run 17 --on gpu") == 2);
  CHECK(learner.text == Contains("--on gpu runs your file, which has not passed: add --mine"));
  if (!std::filesystem::exists("/dev/nvidiactl") && !std::filesystem::exists("/dev/dxg"))
    for (const char* words :
         {"check 17 --on gpu", "run 17 --mine --on gpu", "profile 17 --on gpu", "profile 17 --solution --on gpu"}) {
      CHECK(learner.types(words) == 2);
      CHECK(learner.text == Contains("--on gpu: this machine has no GPU of NVIDIA's"));
    }
  learner.writes("06_causal_mask", solution_of("06_causal_mask"));
  CHECK(learner.types("check 06 --on ptx") == 2);
  CHECK(learner.text == Contains("06_causal_mask has no kernels, which --on ptx is for"));
}

TEST_CASE("what nvcc makes of graphs and of tensor cores is checked without a GPU, too") {
  Learner learner;
  const std::string llama = "20_cuda_llama", tensor_cores = "21_tensor_cores";
  learner.writes(llama, solution_of(llama));
  if (learner.types("check 20 --on ptx") == 2) {
    CHECK(learner.text == Contains("--on ptx runs what nvcc makes of your file: "));
    MESSAGE("SKIPPED: ", learner.text);
    return;
  }
  CHECK(learner.text == Contains("Pass rate: 100.00%"));
  learner.writes(llama, replaced(solution_of(llama), "i < steps; ++i) CUDA", "i + 1 < steps; ++i) CUDA"));
  CHECK(learner.types("check 20 --on ptx") == 1);
  CHECK(learner.text == Contains("tokens is the first tensor that differs"));

  learner.writes(tensor_cores, solution_of(tensor_cores));
  CHECK(learner.types("check 21 --on ptx") == 0);
  CHECK(learner.text == Contains("Pass rate: 100.00%"));
  const std::string second = "b_fragment[1] = pair_of(b_n, k0 + 2 * number + ";
  learner.writes(tensor_cores, replaced(solution_of(tensor_cores), second + "8", second + "4"));
  CHECK(learner.types("check 21 --on ptx") == 1);
  CHECK(learner.text == Contains("c is the first tensor that differs"));
}

TEST_SUITE_END();
