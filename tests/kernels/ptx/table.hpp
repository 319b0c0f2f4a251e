/// The instructions that the executor knows. A line of a table names the opcode, says where PTX ISA 9.0 describes it,
/// and says what it does.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "thread.hpp"

namespace rungs::ptx {

struct Known {
  std::string manual;  ///< the section of PTX ISA 9.0
  Flow flow = Flow::next;
  Alone alone = nullptr;
  Together together = nullptr;
};

/// By opcode, as it stands in the text.
using Table = std::map<std::string, Known>;

void add_arithmetic(Table&);     // arithmetic.cpp: also comparison, selection, logic, shifts
void add_conversions(Table&);    // conversions.cpp
void add_data_movement(Table&);  // data_movement.cpp
void add_control(Table&);        // control.cpp
void add_tensor_cores(Table&);   // tensor_cores.cpp
void add_hopper(Table&);         // hopper.cpp

/// \throws Fault for an opcode that is in no table.
const Known& known(const std::string& opcode);

// What lines are made of.

template <class T>
std::string name_of_type() {
  if constexpr (std::is_floating_point_v<T>) return "f" + std::to_string(sizeof(T) * 8);
  return (std::is_signed_v<T> ? "s" : "u") + std::to_string(sizeof(T) * 8);
}

/// Slot 0 = F(slot 1, slot 2, ...), where F's parameters say how the slots are read.
template <class F, class R, class... A>
struct Call {
  static void run(Thread& thread, const Instruction& instruction) {
    [&]<size_t... i>(std::index_sequence<i...>) {
      set<R>(thread, instruction.slot[0], F()(get<A>(thread, instruction.slot[1 + i])...));
    }
    (std::index_sequence_for<A...>());
  }
};
template <class F, class R, class... A>
Alone call_of(R (F::*)(A...) const) {
  return Call<F, R, A...>::run;
}

/// A line for one opcode: `f` takes the inputs and returns the result.
template <class F>
void line(Table& table, const std::string& opcode, const char* manual, F) {
  table[opcode] = {manual, Flow::next, call_of(&F::operator())};
}

/// A line for several types: `f` is a template, and the type is the opcode's last part.
template <class... T, class F>
void lines(Table& table, const std::string& opcode, const char* manual, F) {
  ((table[opcode + "." + name_of_type<T>()] = {manual, Flow::next, call_of(&F::template operator()<T>)}), ...);
}

/// The same for types that are bits, such as .b32.
template <class... T, class F>
void bit_lines(Table& table, const std::string& opcode, const char* manual, F) {
  ((table[opcode + ".b" + std::to_string(sizeof(T) * 8)] = {manual, Flow::next, call_of(&F::template operator()<T>)}),
   ...);
}

}  // namespace rungs::ptx
