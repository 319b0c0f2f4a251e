#include "rungs/tensor/tap.hpp"

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("tensor");

TEST_CASE("a watcher sees every tap under the name of its layer, until it is taken away") {
  std::vector<std::string> seen;
  const Tensor t({2});
  tap("before", t);
  watch_taps([&](const std::string& name, const Tensor& tensor) {
    seen.push_back(name);
    CHECK(tensor.raw() == t.raw());
  });
  tap("x", t);
  {
    const TapLayer layer(3);
    tap("q", t);
  }
  tap("logits", t);
  watch_taps({});
  tap("after", t);
  CHECK(seen == std::vector<std::string>{"x", "layers.3.q", "logits"});
}

TEST_SUITE_END();
