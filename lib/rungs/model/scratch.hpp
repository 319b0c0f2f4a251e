/// A model's scratch tensors are listed once, in their struct's each(): allocated, counted and cut from that list.
#pragma once

#include "rungs/model/config.hpp"
#include "rungs/ops/device.hpp"

namespace rungs {

/// Scratch for calls of up to n rows.
template <class Scratch>
Scratch allocate_scratch(Device& device, const Config& config, int64_t n) {
  Scratch scratch;
  Scratch::each(config, n,
                [&](Tensor Scratch::*member, const Shape& shape) { scratch.*member = device.allocate(shape); });
  return scratch;
}

/// How many elements it takes for each row.
template <class Scratch>
int64_t scratch_elements(const Config& config) {
  int64_t elements = 0;
  Scratch::each(config, 1, [&](Tensor Scratch::*, const Shape& shape) { elements += shape.count(); });
  return elements;
}

/// The first n rows of it, for one call.
template <class Scratch>
Scratch rows_of_scratch(Scratch& scratch, const Config& config, int64_t n) {
  Scratch rows;
  Scratch::each(config, n, [&](Tensor Scratch::*member, const Shape& shape) {
    rows.*member = (scratch.*member).view_rows(0, shape[0]);
  });
  return rows;
}

}  // namespace rungs
