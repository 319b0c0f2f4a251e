#include "pieces.hpp"

namespace lesson_01 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "offset") {  // a: (R, K), read element by element through offset
    const Tensor& a = in["a"];
    Tensor read(a.shape());
    for (int64_t r = 0; r < a.dim(0); ++r)
      for (int64_t c = 0; c < a.dim(1); ++c) read(r, c) = a.flat(pieces.offset(r, c, a.dim(0), a.dim(1)));
    rec.output("a_read", read);
  } else {
    Tensor out({in["x"].dim(0), in["weight"].dim(0)});  // (T, N)
    pieces.linear(out, in["x"], in["weight"], in["bias"]);
    rec.output("out", out);
  }
}

}  // namespace lesson_01
