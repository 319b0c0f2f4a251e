// Who includes whom, room by room. A room is a folder of lib/rungs, of kernels/emulator, or a line of rooms.txt.
//   includes SOURCE ROOMS [PICTURE]
// Fails where two headers answer to one name, where files include each other in a circle, and where a room includes one
// that stands above it in ROOMS, the list from the top down. Writes the arrows for Graphviz into PICTURE: an arrow that
// a longer way implies is left out.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

using Arrows = std::map<std::string, std::set<std::string>>;

struct Room {
  std::string name, folder, colour;
};

/// "NAME FOLDER COLOUR", a line each; from "#" on a remark.
std::vector<Room> read_rooms(const fs::path& path) {
  std::ifstream in(path);
  std::vector<Room> rooms;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    if (Room room; words >> room.name >> room.folder >> room.colour) rooms.push_back(room);
  }
  if (rooms.empty()) throw std::runtime_error(path.string() + ": wanted a room a line, found none");
  return rooms;
}

/// The sources below the top level's folders, as paths from `top`.
std::vector<std::string> sources(const fs::path& top) {
  const std::set<std::string> endings = {".cpp", ".hpp", ".cu", ".cuh", ".h"};
  std::vector<std::string> files;
  for (const char* folder : {"lib", "kernels", "lessons", "tools", "bench", "tests"})
    for (const auto& entry : fs::recursive_directory_iterator(top / folder))
      if (endings.contains(entry.path().extension().string()))
        files.push_back(fs::relative(entry.path(), top).string());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> includes_of(const fs::path& file) {
  static const std::regex include("^\\s*#\\s*include\\s+[<\"]([^\">]+)[\">]");
  std::vector<std::string> names;
  std::ifstream in(file);
  std::smatch found;
  for (std::string line; std::getline(in, line);)
    if (std::regex_search(line, found, include)) names.push_back(found[1]);
  return names;
}

/// The file that a name means in `from`: beside it, or below one of the folders that the build names with -I.
std::string resolve(const std::string& from, const std::string& name, const std::set<std::string>& files) {
  const std::string beside = (fs::path(from).parent_path() / name).lexically_normal().string();
  if (files.contains(beside)) return beside;
  for (const char* folder : {"lib/", "", "kernels/emulator/include/", "lessons/", "tests/", "tests/kernels/",
                             "tools/rungs/", "bench/kernels/"})
    if (files.contains(folder + name)) return folder + name;
  return "";  // made by the build, or CUDA's own
}

/// The room whose folder the file is in; of two, the one deeper inside.
const Room* room_of(const std::string& file, const std::vector<Room>& rooms) {
  const Room* best = nullptr;
  for (const Room& room : rooms)
    if (file.starts_with(room.folder + "/") && (!best || room.folder.size() > best->folder.size())) best = &room;
  return best;
}

/// A way from a file back to itself, or nothing.
std::vector<std::string> circle(const Arrows& arrows) {
  std::set<std::string> done;
  std::vector<std::string> way;
  const std::function<bool(const std::string&)> visit = [&](const std::string& at) {
    if (const auto seen = std::find(way.begin(), way.end(), at); seen != way.end()) {
      way.erase(way.begin(), seen);
      way.push_back(at);
      return true;
    }
    if (!done.insert(at).second || !arrows.contains(at)) return false;
    way.push_back(at);
    for (const std::string& next : arrows.at(at))
      if (visit(next)) return true;
    way.pop_back();
    return false;
  };
  for (const auto& [file, to] : arrows)
    if (visit(file)) return way;
  return {};
}

bool leads_to(const Arrows& arrows, const std::string& from, const std::string& to) {
  if (from == to) return true;
  const auto next = arrows.find(from);
  return next != arrows.end() && std::any_of(next->second.begin(), next->second.end(),
                                             [&](const std::string& room) { return leads_to(arrows, room, to); });
}

void draw(const fs::path& path, const std::vector<Room>& rooms, const Arrows& arrows) {
  std::ofstream out(path);
  out << "digraph rooms {\n"
         "  bgcolor=\"transparent\"; rankdir=LR; nodesep=0.2; ranksep=0.4\n"
         "  node [shape=box, style=\"rounded,filled\", color=\"#888888\", fontcolor=\"#222222\", "
         "fontname=\"Helvetica\", fontsize=11, margin=\"0.14,0.08\"]\n"
         "  edge [color=\"#888888\", arrowsize=0.7]\n";
  std::set<std::string> drawn;
  for (const auto& [from, all] : arrows) drawn.insert(from), drawn.insert(all.begin(), all.end());
  for (const Room& room : rooms)
    if (drawn.contains(room.name)) out << fmt::format("  \"{}\" [fillcolor=\"{}\"]\n", room.name, "#" + room.colour);
  for (const auto& [from, all] : arrows)
    for (const std::string& to : all) {
      const bool implied = std::any_of(all.begin(), all.end(),
                                       [&](const std::string& by) { return by != to && leads_to(arrows, by, to); });
      if (!implied) out << fmt::format("  \"{}\" -> \"{}\"\n", from, to);
    }
  out << "}\n";
}

int check(const fs::path& top, const fs::path& list, const char* picture) {
  const std::vector<Room> rooms = read_rooms(list);
  const std::vector<std::string> all = sources(top);
  const std::set<std::string> files(all.begin(), all.end());
  std::vector<std::string> faults;
  Arrows by_file, by_room;
  for (const std::string& file : all) {
    const Room* from = room_of(file, rooms);
    if (!from) faults.push_back(fmt::format("{}: no line of {} names its folder", file, list.filename().string()));
    for (const std::string& name : includes_of(top / file)) {
      const std::string target = resolve(file, name, files);
      if (target.starts_with("lib/rungs/") && !name.starts_with("rungs/"))
        faults.push_back(
            fmt::format("{}: \"{}\": the library's headers are included as \"{}\"", file, name, target.substr(4)));
      if (target.empty() || target == file) continue;
      by_file[file].insert(target);
      const Room* to = room_of(target, rooms);
      if (!from || !to || from == to) continue;
      by_room[from->name].insert(to->name);
      if (to < from) faults.push_back(fmt::format("{}: \"{}\": {} stands above {}", file, name, to->name, from->name));
    }
  }
  if (const std::vector<std::string> way = circle(by_file); !way.empty())
    faults.push_back(fmt::format("a circle: {}", fmt::join(way, " -> ")));
  for (const std::string& fault : faults) fmt::print(stderr, "{}\n", fault);
  if (!faults.empty()) return 1;
  fmt::print("{} files in {} rooms: no circle, and no arrow runs back up\n", all.size(), rooms.size());
  if (picture) draw(picture, rooms, by_room);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    fmt::print(stderr, "usage: includes SOURCE ROOMS [PICTURE]\n");
    return 2;
  }
  try {
    return check(argv[1], argv[2], argc > 3 ? argv[3] : nullptr);
  } catch (const std::exception& e) {
    fmt::print(stderr, "includes: {}\n", e.what());
    return 1;
  }
}
