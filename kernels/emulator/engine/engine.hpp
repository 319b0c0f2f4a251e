/// Inside of kernels/emulator: what the engine tells the checker and the counter, and what they may ask it. Kernels
/// never see this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rungs::emulator {

/// A static __shared__ array of the program, found in its symbol table.
struct SharedArray {
  uintptr_t address;  ///< in this OS thread
  size_t bytes;
  std::string name;  ///< "matmul_tiled(...)::tile"
};

/// \name What the engine knows
///@{
bool in_kernel();     ///< this OS thread runs a block
bool in_user_code();  ///< and the kernel's own code, not the engine's: only then do the compiler's hooks count
void set_user_code(bool yes);
int thread_index();        ///< of the running CUDA thread: x + blockDim.x * (y + blockDim.y * z)
unsigned barrier_count();  ///< how many block barriers this block has passed
bool has_waited();         ///< the thread for the kernels before this one, or the launch does not overlap them
std::string where();       ///< "kernel matmul_tiled(...), block (1,0,0), thread (3,0,0)"
std::string thread_name(int index);
bool on_own_stack(uintptr_t address);
bool on_any_stack(uintptr_t address);
bool in_arguments(uintptr_t address);  ///< the launch's parameters
std::vector<SharedArray> shared_arrays();
std::string function_name(uintptr_t address);
size_t allocated_bytes();  ///< of device memory, now
bool in_device_memory(uintptr_t address);
bool in_static_object(uintptr_t address);   ///< __constant__ and __device__ variables, literals
[[noreturn]] void fail(std::string fault);  ///< ends the launch with a CudaError that also says where()
/// The same for a fault that another thread of the block made, which is seen only now: where() of that thread.
[[noreturn]] void fail_in_thread(int thread, std::string fault);
///@}

/// From now on code of the host that touches device memory ends the program with a sentence, as it cannot reach a GPU's
/// memory either. In a checked build; before anything is allocated. It costs some microseconds a launch and allocation.
void close_device_memory();
/// Of kernels, by this program so far.
uint64_t launches();
/// While one lives, closed device memory can be read and written: during a launch or a copy.
class DeviceMemoryOpen {
 public:
  DeviceMemoryOpen();
  ~DeviceMemoryOpen();
  DeviceMemoryOpen(const DeviceMemoryOpen&) = delete;
  DeviceMemoryOpen& operator=(const DeviceMemoryOpen&) = delete;
};

/// \name What the checked build is told: check.cpp; the plain build has none of these
/// The checker keeps one account without locks: in a checked build blocks run one after the other and static __shared__
/// arrays are plain statics. All but the first five hold for the running thread, thread_index().
///@{
/// Before and after an allocation nothing else stands for so many bytes, so that what runs over an end lands in no
/// other one, and is told alike wherever the system puts memory.
inline constexpr size_t checked_gap_bytes = 64 << 10;
void checked_allocation(uintptr_t begin, size_t bytes);
void checked_free(uintptr_t begin);                      ///< before the memory is given back
void checked_host_write(uintptr_t begin, size_t bytes);  ///< cudaMemcpy to the device or on it, cudaMemset
void checked_launch_begins(const std::string& kernel, bool overlap);
/// What the kernels so far wrote is complete: the host waited for them, or what comes next in the stream does.
void checked_kernels_ended();
void checked_block_begins(unsigned char* dynamic_shared, size_t bytes);
void checked_block_ends();  ///< all threads have returned; may call fail
void checked_barrier();  ///< all threads of the block have arrived, none has left: held reads are judged; may call fail
/// __syncwarp alone. Shuffles, votes and matrix operations wait for their lanes, but CUDA promises no order of memory
/// for them, so they are not told.
void checked_warp_barrier(int any_thread_of_the_warp, unsigned mask);
void checked_access(uintptr_t address, unsigned bytes, bool write, void* program_counter);
bool is_of_device(uintptr_t address);  ///< in an allocation of device memory, or in shared memory
void checked_atomic(uintptr_t address, unsigned bytes, void* program_counter);
void checked_fence();  ///< __threadfence
/// cp.async: where it is called, and when the calling thread has waited for it. In between nobody may touch the
/// destination. `bytes_read` of the source, then zeros.
void checked_copy_begins(uintptr_t destination, uintptr_t source, unsigned bytes, unsigned bytes_read,
                         void* program_counter);
void checked_copy_ends(uintptr_t destination, unsigned bytes);
///@}

}  // namespace rungs::emulator
