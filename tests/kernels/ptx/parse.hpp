/// From the text of a PTX module to its kernels, statement by statement. PTX ISA 9.0, chapters 4 (syntax), 5
/// (variables) and 11 (directives).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rungs::ptx {

/// `%r1`, `{%f1, %f2}`, `%r1|%p1` or `[%rd1+16]`: one name, or several.
struct Operand {
  std::vector<std::string> names;
  bool is_vector = false, is_address = false;
  int64_t offset = 0;  ///< in bytes, of an address
};

/// `@%p1 add.s32 %r1, %r2, 3;`
struct Statement {
  std::string text;
  std::string guard;  ///< runs where this predicate is `guard_is`; empty: always
  bool guard_is = true;
  std::string opcode;  ///< with all that follows after dots
  std::vector<Operand> operands;
};

/// A variable in shared memory, or a parameter: `bytes` at `offset` from where its state space begins.
struct Variable {
  std::string name;
  size_t bytes = 0, alignment = 1, offset = 0;
};

/// A kernel (`.entry`).
struct Function {
  std::string name;
  size_t max_threads = 1024;  ///< of a block (`.maxntid`)
  std::vector<Variable> parameters;
  size_t parameter_bytes = 0;
  std::vector<Variable> shared;  ///< of a size that the text gives
  Variable dynamic;              ///< of a size that the launch gives; without a name where there is none
  std::vector<std::string> registers;
  std::vector<Statement> statements;
  std::map<std::string, size_t> labels;  ///< number of the statement that follows
};

/// Offset behind the last of the variables.
size_t end_of(const std::vector<Variable>& variables);

/// All kernels of a module, by name. \throws Fault
std::map<std::string, Function> parse(std::string_view text);

}  // namespace rungs::ptx
