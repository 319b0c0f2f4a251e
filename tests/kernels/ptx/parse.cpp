#include "parse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fault.hpp"

namespace rungs::ptx {

static constexpr std::string_view spaces = " \t\r\n";

static std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(spaces), last = text.find_last_not_of(spaces);
  return first == text.npos ? "" : text.substr(first, last - first + 1);
}

/// What stands before the first of `ends`, which is taken away too.
static std::string_view take(std::string_view& text, std::string_view ends = spaces) {
  const size_t end = text.find_first_of(ends);
  const std::string_view word = trim(text.substr(0, end));
  text = end == text.npos ? "" : text.substr(end + 1);
  return word;
}

static size_t number(std::string_view text) {
  const std::string digits(trim(text));
  if (digits.empty() || !std::isdigit(static_cast<unsigned char>(digits[0])))
    throw Fault(fmt::format("a number is wanted, found '{}'", text));
  return std::stoull(digits);
}

/// Cut at the commas that stand outside of brackets and braces.
static std::vector<std::string_view> cut_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ']' || text[i] == '}') --depth;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (const std::string_view last = trim(text.substr(begin)); !last.empty()) parts.push_back(last);
  return parts;
}

static Operand parse_operand(std::string_view text) {
  Operand operand;
  if (text[0] == '{') {
    operand.is_vector = true;
    for (const std::string_view name : cut_at_commas(text.substr(1, text.rfind('}') - 1)))
      operand.names.emplace_back(name);
    return operand;
  }
  if (text[0] == '[') {
    operand.is_address = true;
    text = text.substr(1, text.rfind(']') - 1);
    // A tensor map comes with its coordinates: [map, {x, y}].
    for (const std::string_view part : cut_at_commas(text)) {
      if (part[0] == '{') {
        for (const std::string& name : parse_operand(part).names) operand.names.push_back(name);
        continue;
      }
      const size_t plus = part.find('+');
      operand.names.emplace_back(trim(part.substr(0, plus)));
      if (plus != part.npos) operand.offset = std::stoll(std::string(part.substr(plus + 1)));
    }
    return operand;
  }
  while (!text.empty()) operand.names.emplace_back(take(text, "|"));
  return operand;
}

static Statement parse_statement(std::string_view text) {
  Statement statement;
  statement.text = text;
  if (text[0] == '@') {
    std::string_view guard = take(text).substr(1);
    statement.guard_is = guard[0] != '!';
    if (!statement.guard_is) guard.remove_prefix(1);
    statement.guard = guard;
    text = trim(text);
  }
  const size_t end = text.find_first_of(" \t\n{[");
  statement.opcode = text.substr(0, end);
  if (end != text.npos)
    for (const std::string_view operand : cut_at_commas(text.substr(end)))
      statement.operands.push_back(parse_operand(operand));
  return statement;
}

/// `.align 16 .b8 name[512]`, as of a parameter or a shared array.
static Variable parse_variable(std::string_view text) {
  Variable variable;
  size_t element = 0;
  while (!text.empty()) {
    const std::string_view word = take(text);
    if (word == ".align") {
      variable.alignment = number(take(text));
    } else if (word.size() > 2 && word[0] == '.' && std::isdigit(static_cast<unsigned char>(word[2]))) {
      element = number(word.substr(2)) / 8;  // .b8, .u64, .f32
    } else if (!word.empty() && word[0] != '.') {
      const size_t bracket = word.find('[');
      variable.name = word.substr(0, bracket);
      const bool sized = bracket != word.npos && word[bracket + 1] != ']';
      variable.bytes = element * (sized ? number(word.substr(bracket + 1)) : bracket == word.npos ? 1 : 0);
    }
  }
  variable.alignment = std::max(variable.alignment, element);
  return variable;
}

size_t end_of(const std::vector<Variable>& variables) {
  return variables.empty() ? 0 : variables.back().offset + variables.back().bytes;
}

/// Puts it behind the others.
static void append(std::vector<Variable>& variables, Variable variable) {
  variable.offset = (end_of(variables) + variable.alignment - 1) / variable.alignment * variable.alignment;
  variables.push_back(std::move(variable));
}

/// `.reg .b32 %r<112>, sum` declares %r0 to %r111 and sum.
static void declare_registers(Function& function, std::string_view text) {
  take(text), text = trim(text), take(text);  // .reg and the type
  for (const std::string_view name : cut_at_commas(text)) {
    const size_t bracket = name.find('<');
    if (bracket == name.npos) {
      function.registers.emplace_back(name);
      continue;
    }
    for (size_t i = 0; i < number(name.substr(bracket + 1)); ++i)
      function.registers.push_back(fmt::format("{}{}", name.substr(0, bracket), i));
  }
}

/// Inner braces bound the names of registers. They are passed over: what is declared twice shares one register, which
/// is written before it is read in both places.
static void parse_body(Function& function, std::string_view text) {
  for (text = trim(text); !text.empty(); text = trim(text)) {
    if (text[0] == '{' || text[0] == '}') {
      text.remove_prefix(1);
      continue;
    }
    if (text[0] == '$') {
      function.labels[std::string(take(text, ":"))] = function.statements.size();
      continue;
    }
    const std::string_view one = take(text, ";");
    if (one.starts_with(".reg")) {
      declare_registers(function, one);
    } else if (one.starts_with(".shared")) {
      append(function.shared, parse_variable(one));
    } else if (one[0] != '.') {
      function.statements.push_back(parse_statement(one));
    } else if (!one.starts_with(".pragma")) {
      throw Fault(fmt::format("unknown directive in {}: {}", function.name, one));
    }
  }
}

/// Without comments, which become spaces.
static std::string without_comments(std::string_view text) {
  std::string out(text);
  for (const auto& [begin, end] : {std::pair{"//", "\n"}, {"/*", "*/"}})
    for (size_t at = 0; (at = out.find(begin, at)) != out.npos;) {
      const size_t last = std::min(out.find(end, at), out.size());
      std::fill(out.begin() + long(at), out.begin() + long(last), ' ');
      if (end[0] == '*' && last < out.size()) out[last] = out[last + 1] = ' ';
    }
  return out;
}

/// Where the braces that open at `open` close.
static size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  throw Fault("a PTX module ends within braces");
}

/// Without what nvcc's -lineinfo adds, which becomes spaces: .loc and .file to the end of their lines, and .section
/// with its braces.
static std::string without_places(std::string_view text) {
  std::string out(text);
  for (const std::string_view word : {".loc", ".file", ".section"})
    for (size_t at = 0; (at = out.find(word, at)) != out.npos;) {
      const size_t end = at + word.size();
      const bool is_word = end < out.size() && spaces.find(out[end]) != spaces.npos;  // no .local
      const size_t last = !is_word             ? at
                          : word == ".section" ? closing(out, at) + 1
                                               : std::min(out.find('\n', at), out.size());
      std::fill(out.begin() + long(at), out.begin() + long(last), ' ');
      at = std::max(last, end);
    }
  return out;
}

/// `.maxntid 16, 16, 1`
static size_t max_threads(std::string_view directives) {
  const size_t at = directives.find(".maxntid");
  if (at == directives.npos) return 1024;
  directives = directives.substr(at + 8);
  directives = directives.substr(0, directives.find('.'));
  size_t threads = 1;
  while (!trim(directives).empty()) threads *= number(take(directives, ","));
  return threads;
}

std::map<std::string, Function> parse(std::string_view commented) {
  const std::string without = without_comments(without_places(commented));
  const std::string_view text = without;
  std::map<std::string, Function> functions;
  std::vector<Variable> of_module;  // shared arrays that are declared outside of kernels
  Variable dynamic;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find_first_of(";({", at);
    if (end == text.npos) break;
    const std::string_view head = trim(text.substr(at, end - at));
    const size_t entry = head.find(".entry ");
    if (entry == head.npos) {
      const size_t shared = head.find(".shared");
      if (head.find(".extern") != head.npos && shared != head.npos) dynamic = parse_variable(head.substr(shared));
      if (head.find(".extern") == head.npos && shared != head.npos)
        of_module.push_back(parse_variable(head.substr(shared)));
      if (shared == head.npos || text[end] != ';') throw Fault(fmt::format("unknown in a PTX module: {}", head));
      at = end + 1;
      continue;
    }
    Function function;
    function.name = trim(head.substr(entry + 7));
    const size_t close = text.find(')', end), open = text.find('{', end);
    if (open == text.npos) throw Fault("a PTX module ends within a kernel");
    for (const std::string_view parameter : cut_at_commas(text.substr(end + 1, close - end - 1)))
      append(function.parameters, parse_variable(parameter));
    function.parameter_bytes = end_of(function.parameters);
    function.max_threads = max_threads(text.substr(close + 1, open - close - 1));
    const size_t last = closing(text, open);
    const std::string_view body = text.substr(open + 1, last - open - 1);
    for (const Variable& variable : of_module)
      if (body.find(variable.name) != body.npos) append(function.shared, variable);
    if (!dynamic.name.empty() && body.find(dynamic.name) != body.npos) function.dynamic = dynamic;
    parse_body(function, body);
    functions.emplace(function.name, std::move(function));
    at = last + 1;
  }
  return functions;
}

}  // namespace rungs::ptx
