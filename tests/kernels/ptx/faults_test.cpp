#include <doctest/doctest.h>

#include "fault.hpp"
#include "tiny_kernel.hpp"

namespace rungs::ptx {

TEST_SUITE_BEGIN("kernels_ptx");

/// The sentence of the fault, or nothing.
static std::string fault_of(const std::string& body, u32 threads = 1, const std::vector<u64>& input = {},
                            bool overlap = false) {
  try {
    results(body, input, threads, overlap);
    return "";
  } catch (const Fault& fault) {
    return fault.what();
  }
}

static bool says(const std::string& sentence, const std::string& part) { return sentence.find(part) != sentence.npos; }

TEST_CASE("PTX: a fault names the kernel, the block, the thread and the instruction") {
  CHECK(fault_of("st.global.u32 [%rd1+8], %r0;", 3) ==
        "4 bytes of device memory outside of every allocation (tiny, block (0,0,0), thread 2: st.global.u32 [%rd1+8], "
        "%r0)");
}

TEST_CASE("PTX: memory that is not the kernel's is a fault") {
  CHECK(fault_of("ld.global.u32 %r1, [%rd1+4];") == "");
  CHECK(says(fault_of("ld.global.u32 %r1, [%rd1+-4];"), "outside of every allocation"));
  CHECK(says(fault_of("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];"), "outside of every allocation"));
  CHECK(says(fault_of("ld.global.u32 %r1, [%rd4];"), "that is no multiple"));  // never set
  CHECK(says(fault_of("ld.shared.u32 %r1, [tile+1024];"), "of shared memory"));
  CHECK(says(fault_of("ld.shared.u32 %r1, [0];"), "of shared memory"));
  CHECK(says(fault_of("ld.param.u64 %rd3, [in+8];"), "of parameters"));
  CHECK(says(fault_of("cp.async.cg.shared.global [tile], [%rd2], 16;", 1, {1}), "outside of every allocation"));
  CHECK(says(fault_of("cp.async.cg.shared.global [tile], [%rd2], 16, 17;", 1, {1, 2}), "a copy of 16 bytes reads 17"));
}

TEST_CASE("PTX: an address must be a multiple of what is read there") {
  CHECK(fault_of("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [tile+16];") == "");
  CHECK(
      says(fault_of("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [tile+8];"), "16 bytes at an address that is no multiple"));
  CHECK(says(fault_of("st.global.u16 [%rd1+1], %rs1;"), "2 bytes at an address that is no multiple"));
  CHECK(says(fault_of("atom.shared.add.u64 %rd3, [tile+4], 1;"), "8 bytes at an address that is no multiple"));
}

TEST_CASE("PTX: what the executor does not know is a fault, even where it is not reached") {
  CHECK(says(fault_of("bra $end; sin.approx.f32 %f1, %f2; $end:"), "unknown instruction: sin.approx.f32"));
  CHECK(says(fault_of("mov.u32 %r1, %clock;"), "unknown operand in tiny: %clock"));
  CHECK(says(fault_of("bra $nowhere;"), "no such label"));
  CHECK(says(fault_of(".local .b32 x;"), "unknown directive"));
}

TEST_CASE("PTX: places in the source are passed over") {
  CHECK(fault_of("\n\t.loc\t1 2 38, function_name $L__info_string0, inlined_at 1 3 30\n\tst.global.u32 [%rd1], %r0;"
                 "\n.loc 1 3 30\n\t.file\t1 \"/work/a;{b.cu\"\n\t.section\t.debug_str\n\t{\n.b8 95,90,0\n\t}\n") == "");
}

TEST_CASE("PTX: barriers that not all threads reach are a fault") {
  const std::string odd = "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; setp.ge.u32 %p2, %r0, 32;";
  CHECK(fault_of(odd + "bar.sync 0;", 64) == "");
  CHECK(says(fault_of(odd + "@%p1 bar.sync 0;", 64), "have exited without the barrier"));
  CHECK(says(fault_of(odd + "@%p1 bar.sync 0; @!%p1 bar.sync 0;", 64), "different barriers"));
  CHECK(fault_of(odd + "@%p2 bar.sync 0; @!%p2 bar.sync 0;", 64) == "");  // whole warps may
  CHECK(says(fault_of(odd + "@%p2 bar.sync 1; @!%p2 bar.sync 0;", 64), "deadlock"));
}

TEST_CASE("PTX: lanes that do not take part are a fault") {
  const std::string odd = "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1;";
  CHECK(
      says(fault_of(odd + "@%p1 shfl.sync.bfly.b32 %r2|%p2, %r0, 2, 31, -1; @!%p1 bar.warp.sync -1;", 32), "deadlock"));
  CHECK(says(fault_of(odd + "@%p1 shfl.sync.bfly.b32 %r2|%p2, %r0, 1, 31, -1431655766;", 32), "which takes no part"));
  CHECK(says(fault_of("shfl.sync.bfly.b32 %r2|%p2, %r0, 0, 31, 1;", 32), "is not in its own mask"));
  CHECK(says(fault_of("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [tile];", 16), "without all 32 lanes"));
}

TEST_CASE("PTX: where the kernels before may still run, a write or an exit before the wait for them is a fault") {
  const std::string wait = "griddepcontrol.wait;", write = "st.global.u32 [%rd1], %r0;",
                    add = "atom.global.add.u32 %r1, [%rd1], 1;", some = "setp.lt.u32 %p1, %r0, 40; @%p1 bra $end;";
  const auto overlapping = [](const std::string& body) { return fault_of(body, 64, {1}, true); };
  CHECK(overlapping("griddepcontrol.launch_dependents;" + wait + write + add) == "");
  CHECK(overlapping("ld.global.u32 %r2, [%rd2]; st.shared.u32 [tile], %r2; atom.shared.add.u32 %r1, [tile], 1;" +
                    wait) == "");
  CHECK(says(overlapping(write + wait), "a write to device memory before griddepcontrol.wait"));
  CHECK(says(overlapping(add + wait), "a write to device memory before griddepcontrol.wait"));
  CHECK(says(overlapping("st.u32 [%rd1], %r0;" + wait), "a write to device memory before griddepcontrol.wait"));
  CHECK(says(overlapping("griddepcontrol.launch_dependents;"), "a thread exits without griddepcontrol.wait"));
  CHECK(says(overlapping(some + wait + "$end:"), "a thread exits without griddepcontrol.wait"));
  CHECK(fault_of(write) == "");  // an ordinary launch
}

TEST_CASE("PTX: a loop that never ends is a fault") { CHECK(says(fault_of("$again: bra $again;"), "an endless loop")); }

TEST_CASE("PTX: memory is given back once") {
  void* memory = allocate(8);
  free(memory);
  CHECK_THROWS_AS(free(memory), Fault);
}

TEST_SUITE_END();

}  // namespace rungs::ptx
