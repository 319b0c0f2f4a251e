#include "decode.hpp"

#include <fmt/format.h>

#include <iterator>
#include <unordered_map>

#include "fault.hpp"
#include "table.hpp"

namespace rungs::ptx {
namespace {

/// What a register holds before it is written: a NaN as f32 and as f64, and no address.
constexpr u64 garbage = 0x7ffc'dead'ffc0'dead;

class Slots {
 public:
  Slots(const Function& function, Code& code) : function_(function), code_(code) {
    for (const std::string& name : function.registers) slots_.emplace(name, add(garbage));
    for (const Variable& variable : function.parameters) slots_.emplace(variable.name, add(variable.offset));
    for (const Variable& variable : function.shared) slots_.emplace(variable.name, add(shared_begin + variable.offset));
    const u64 alignment = function.dynamic.alignment;
    code.shared_end = (shared_begin + end_of(function.shared) + alignment - 1) / alignment * alignment;
    if (!function.dynamic.name.empty()) slots_.emplace(function.dynamic.name, add(code.shared_end));
    slots_.emplace("_", add(garbage));  // where results go that nobody wants
  }

  u32 of(const std::string& name) {
    const auto found = slots_.find(name);
    if (found != slots_.end()) return found->second;
    const u32 slot = add(garbage);
    if (!is_special(name, slot)) code_.initial[slot] = constant(name);
    return slots_[name] = slot;
  }

 private:
  u32 add(u64 value) {
    code_.initial.push_back(value);
    return u32(code_.initial.size() - 1);
  }

  bool is_special(const std::string& name, u32 slot) {
    for (u32 which = 0; which < std::size(special_registers); ++which)
      if (name == special_registers[which]) {
        code_.specials.push_back({slot, which});
        return true;
      }
    return false;
  }

  /// 16, -1, 0x1f, 0f3F800000 (the bits of a float) or 0d... (of a double).
  u64 constant(const std::string& text) {
    const bool of_float = text.size() > 2 && text[0] == '0' && std::string("fFdD").find(text[1]) != std::string::npos;
    const std::string digits = of_float ? text.substr(2) : text;
    size_t used = 0;
    u64 value = 0;
    try {
      value = digits[0] == '-' ? u64(std::stoll(digits, &used, 0)) : std::stoull(digits, &used, of_float ? 16 : 0);
    } catch (const std::exception&) {
    }
    if (used == 0 || (used != digits.size() && digits.substr(used) != "U"))
      throw Fault(fmt::format("unknown operand in {}: {}", function_.name, text));
    return value;
  }

  const Function& function_;
  Code& code_;
  std::unordered_map<std::string, u32> slots_;
};

/// The name under which a table has it: a mov of several parts says how many and on which side.
std::string key(const Statement& statement) {
  if (!statement.opcode.starts_with("mov.") || statement.operands.size() != 2) return statement.opcode;
  const Operand &to = statement.operands[0], &from = statement.operands[1];
  if (to.is_vector) return fmt::format("{} {{{}}}", statement.opcode, to.names.size());
  if (from.is_vector) return fmt::format("{} ,{{{}}}", statement.opcode, from.names.size());
  return statement.opcode;
}

}  // namespace

Code decode(const Function& function) {
  Code code;
  code.name = function.name;
  code.max_threads = function.max_threads;
  code.parameter_bytes = function.parameter_bytes;
  Slots slots(function, code);
  std::vector<size_t> first_slot;
  for (const Statement& statement : function.statements) {
    const std::string opcode = key(statement);
    const Known& what = known(opcode);
    Instruction instruction;
    instruction.flow = what.flow;
    instruction.alone = what.alone;
    if (what.together) instruction.together = what.together;
    instruction.guarded = !statement.guard.empty();
    instruction.guard_is = statement.guard_is;
    if (instruction.guarded) instruction.guard = slots.of(statement.guard);
    instruction.masked = statement.opcode.starts_with("shfl.") || statement.opcode.starts_with("bar.warp.");
    first_slot.push_back(code.slots.size());
    size_t addresses = 0;
    for (const Operand& operand : statement.operands) {
      if (what.flow == Flow::branch) {
        const auto label = function.labels.find(operand.names[0]);
        if (label == function.labels.end()) throw Fault(fmt::format("no such label: {}", statement.text));
        instruction.target = label->second;
        continue;
      }
      for (const std::string& name : operand.names) code.slots.push_back(slots.of(name));
      if (operand.is_address && addresses < instruction.offset.size())
        instruction.offset[addresses++] = operand.offset;
      else if (operand.offset != 0)
        throw Fault(fmt::format("an offset that is not known: {}", statement.text));
      // The predicate that a shuffle gives may be left out.
      if (&operand == &statement.operands[0] && statement.opcode.starts_with("shfl.") && operand.names.size() == 1)
        code.slots.push_back(slots.of("_"));
    }
    instruction.slots = u32(code.slots.size() - first_slot.back());
    code.instructions.push_back(instruction);
    code.texts.push_back(statement.text.c_str());
  }
  for (size_t i = 0; i < first_slot.size(); ++i) code.instructions[i].slot = code.slots.data() + first_slot[i];
  Instruction end;  // of a kernel without a ret, and where labels at its end lead
  end.flow = Flow::exit;
  code.instructions.push_back(end);
  code.texts.push_back("the end");
  return code;
}

}  // namespace rungs::ptx
