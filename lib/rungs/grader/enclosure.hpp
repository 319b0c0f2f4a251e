/// Walls around a process that runs code of others: bubblewrap's where it is installed, limits alone where not.
///
/// Inside there is no network, no home directory and no other process; nothing can be written but an own empty folder
/// in memory and what is named as writable; no process can be started, unless it is a compiler's. When the process
/// ends, all that it started ends with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rungs {

/// What a process may see and use.
struct Enclosure {
  std::vector<std::filesystem::path> readable = {};  ///< files and folders that it sees, at their own paths
  std::vector<std::filesystem::path> writable = {};
  bool compiler = false;           ///< it sees the system's programs and headers, and may start processes
  uint64_t memory_bytes = 0;       ///< of addresses; 0: no limit; so with all that follow
  uint64_t data_bytes = 0;         ///< of memory that is its own and can be written
  uint64_t processor_seconds = 0;  ///< of each process
  uint64_t file_bytes = 0;         ///< of each file that it writes
};

/// bubblewrap is installed, and this system lets it make namespaces. Asked once.
bool has_walls();

/// The command that runs `command` within the walls, which has_walls() must allow. The filter of system calls is read
/// from `filter_fd`; -1: there is none.
std::vector<std::string> within_walls(const Enclosure& enclosure, const std::vector<std::string>& command,
                                      int filter_fd);

/// A file in memory with the filter, in the form that bubblewrap reads, for within_walls. -1 where there is none for
/// this kind of processor.
int filter_file();

/// Between fork and exec: sets the limits of this process, and of all that it starts.
void limit_process(const Enclosure& enclosure);
/// Between fork and exec, where there are no walls: from now on it starts no process, leaves its group no more, and
/// opens no socket. Threads it may start.
void forbid_processes();

/// What walls there are, as one sentence for the person who grades.
std::string walls_sentence();

}  // namespace rungs
