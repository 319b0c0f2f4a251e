// What is read of a fat binary is what every one of them begins with, a magic number and the sizes; the PTX in it is
// found as text, which ends with a zero.
#include "fat_binary.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "fault.hpp"

namespace rungs::ptx {

namespace {
struct Wrapper {
  uint32_t magic, version;
  const char* data;
  const void* unused;
};
struct Header {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // after the header
};
}  // namespace

std::vector<std::string> modules_of(const void* wrapper) {
  Wrapper wrapped;
  std::memcpy(&wrapped, wrapper, sizeof wrapped);
  Header header;
  if (wrapped.magic == 0x466243b1) std::memcpy(&header, wrapped.data, sizeof header);
  if (wrapped.magic != 0x466243b1 || header.magic != 0xba55ed50)
    throw Fault("a fat binary of a kind that is not known");
  const std::string_view all(wrapped.data, header.header_bytes + header.bytes);
  std::vector<std::string> modules;
  for (size_t at = 0; (at = all.find(".version ", at)) != all.npos;) {
    const size_t end = std::min(all.find('\0', at), all.size());
    modules.emplace_back(all.substr(at, end - at));
    at = end;
  }
  return modules;
}

}  // namespace rungs::ptx
