/// From where the code under grade threw or crashed to the line of its file.
#pragma once

#include <filesystem>
#include <string>

namespace rungs {

/// In the runner process: from now on each throw notes the calls that led to it, and a crash writes them to the
/// standard error.
void note_calls();
/// In the runner process: as if this thread had not thrown yet.
void forget_calls();
/// In the runner process: those of this thread's last throw, the innermost first: addresses in the program's file,
/// "1a2b 3c4d".
std::string calls_of_last_throw();

/// What a crash writes begins with this character, and ends the text that the process printed.
inline constexpr char calls_follow = '\x1c';

/// The line, from 1, of the innermost of these calls that stands in a file of this name; 0: none does, or there is no
/// addr2line (the package binutils).
int line_of(const std::filesystem::path& program, const std::string& calls, const std::filesystem::path& file);

}  // namespace rungs
