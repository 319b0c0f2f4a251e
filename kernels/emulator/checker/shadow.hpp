/// What the checker remembers about memory: for each few bytes of shared and device memory, who touched them last.
#pragma once

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace rungs::emulator {

/// `copy`: an asynchronous copy that has begun and has not been waited for.
enum class Kind : uint32_t { read, write, atomic, copy };

/// One access, or the same kind of access by several lanes of a warp.
struct Access {
  uint32_t interval;   ///< the time from one barrier to the next, numbered through the whole program; 0: no access
  uint32_t site;       ///< the instruction; of the first lane's access
  uint32_t lanes;      ///< bit i: lane i made it
  uint32_t tick : 20;  ///< how often the warp had synchronized in the interval
  uint32_t warp : 5;
  uint32_t lane : 5;  ///< the first lane
  Kind kind : 2;
};

/// What is known of `granule` bytes. Whatever is ordered before the last write needs no memory: an access that races
/// with it races with the write too.
struct alignas(64) Cell {
  Access write;      ///< the last one
  Access since[2];   ///< reads, or atomics, after it: of two warps. A third warp would tell nothing new: whoever writes
                     ///< next races with one of these two, or with none.
  Access elsewhere;  ///< the same by some block before this one in the launch
};

/// Zeros that take room only where they are touched.
template <class T>
class Zeros {
 public:
  explicit Zeros(size_t count = 0) : bytes_(count * sizeof(T)) {
    if (bytes_ == 0) return;
    void* pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(pages);
  }
  Zeros(Zeros&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Zeros& operator=(Zeros&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Zeros() {
    if (data_) munmap(data_, bytes_);
  }
  T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t bytes_;
};

/// An array in shared memory, or an allocation of device memory.
struct Region {
  Region(uintptr_t where, size_t size, bool is_shared, std::string text);

  uintptr_t begin;
  size_t bytes;
  bool shared;
  std::string name;              ///< for messages: "tile", "an allocation of 4096 bytes"
  unsigned granule = 16;         ///< bytes for which there is one cell: those of the smallest access so far
  Zeros<Cell> cells;             ///< bytes / granule
  Zeros<unsigned char> written;  ///< device memory: 1 for each byte that a kernel or a copy has written

  /// Makes cells for `size` bytes each; keeps what was noted in `oldest` interval and later.
  void refine(unsigned size, uint32_t oldest);
};

void add_region(Region region);
void remove_region(uintptr_t begin);
/// The region that holds `address`, or null.
Region* region_at(uintptr_t address, uint32_t site);
/// The same when the instruction at `site` was in that region before, as it mostly was; otherwise null.
inline Region* region_again(uintptr_t address, uint32_t site);
/// For the message about an address outside: the region it is next to, or null.
const Region* region_near(uintptr_t address);

extern std::array<Region*, 4096> last_of_site;  ///< by instruction: where it was last

inline Region* region_again(uintptr_t address, uint32_t site) {
  Region* last = last_of_site[site % last_of_site.size()];
  return last && address - last->begin < last->bytes ? last : nullptr;
}

}  // namespace rungs::emulator
