/// Launches without their work: what a GPU would refuse, at sizes that take too long on a CPU.
#pragma once

namespace rungs::emulator {

inline bool in_dry_run = false;  // no lock: a program is in one from all of its threads

/// While one lives, each launch and each copy is checked and then left undone, and new device memory is addresses
/// alone: no machine has too little of it, and whoever touches it gets a fault. That holds for as long as it is
/// allocated, so what holds such memory should end with the dry run.
class DryRun {
 public:
  DryRun() { in_dry_run = true; }
  ~DryRun() { in_dry_run = false; }
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;
};

}  // namespace rungs::emulator
