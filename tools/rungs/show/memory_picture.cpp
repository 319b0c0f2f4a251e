#include "memory_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "picture_svg.hpp"

namespace rungs {

namespace {

constexpr int64_t word_bytes = 4, sector_bytes = 32, banks = 32;

/// Each word that lanes first to last want, by its offset.
std::map<int64_t, std::vector<int>> words_of(const WarpRequest& r, int first, int last) {
  std::map<int64_t, std::vector<int>> words;
  for (int lane = first; lane <= last; ++lane) {
    const int64_t begin = r.offset[size_t(lane)];
    if (begin < 0) continue;
    for (int64_t at = begin / word_bytes * word_bytes; at < begin + r.access_bytes; at += word_bytes)
      words[at].push_back(lane);
  }
  return words;
}

std::vector<MemoryRow> sectors_of(const WarpRequest& r) {
  std::map<int64_t, MemoryRow> sectors;
  for (auto& [offset, lanes] : words_of(r, 0, 31)) sectors[offset / sector_bytes].words.push_back({offset, lanes});
  std::vector<MemoryRow> rows;
  for (auto& [sector, row] : sectors) rows.push_back(std::move(row));
  return rows;
}

std::vector<MemoryRow> waves_of(const WarpRequest& r) {
  const int at_once = r.access_bytes >= 16 ? 8 : r.access_bytes >= 8 ? 16 : 32;
  std::vector<MemoryRow> rows;
  for (int first = 0; first < 32; first += at_once) {
    std::array<size_t, banks> given{};  // words of each bank so far
    const size_t begin = rows.size();
    for (auto& [offset, lanes] : words_of(r, first, first + at_once - 1)) {
      const size_t wave = begin + given[size_t(offset / word_bytes % banks)]++;
      if (wave == rows.size())
        rows.push_back({{}, at_once < 32 ? fmt::format("{}-{}", first, first + at_once - 1) : ""});
      rows[wave].words.push_back({offset, lanes});
    }
  }
  return rows;
}

/// "3", "0-15", "0,16", or "0, 4, ..." where there is no room for all.
std::string names_of_lanes(const std::vector<int>& lanes) {
  if (lanes.size() == 1) return fmt::format("{}", lanes[0]);
  if (lanes.back() - lanes.front() + 1 == int(lanes.size())) return fmt::format("{}-{}", lanes.front(), lanes.back());
  return lanes.size() == 2 ? fmt::format("{},{}", lanes[0], lanes[1]) : fmt::format("{}, ...", lanes[0]);
}

constexpr const char* memory_style = R"(<style>
.rungs-memory { --ink: #1b2733; --soft: #6b7885; --back: #ffffff; --used: #f8b878; --more: #f2a29b; --idle: #e6ebf0; --text: #1b2733; }
@media (prefers-color-scheme: dark) { .rungs-memory:root, html:not(.light-mode) .rungs-memory { --ink: #e4eaf0; --soft: #98a5b3;
  --back: #14191f; --used: #b8722a; --more: #b0423a; --idle: #2a343f; --text: #ffffff; } }
html.dark-mode .rungs-memory { --ink: #e4eaf0; --soft: #98a5b3; --back: #14191f; --used: #b8722a; --more: #b0423a; --idle: #2a343f; --text: #ffffff; }
.rungs-memory { background: var(--back); max-width: 100%; height: auto; }
.rungs-memory text { fill: var(--ink); font: 12px system-ui, sans-serif; } .rungs-memory .title { font-weight: 600; }
.rungs-memory .code { font: 12px ui-monospace, monospace; } .rungs-memory .soft { fill: var(--soft); font-size: 11px; }
.rungs-memory .lane { fill: var(--text); font-size: 9px; text-anchor: middle; } .rungs-memory .used { fill: var(--used); }
.rungs-memory .more { fill: var(--more); } .rungs-memory .idle { fill: var(--idle); }
</style>
)";

constexpr double first_box = 92, box_width = 30, box_height = 20, between_pictures = 40;

std::string said_at(double x, double y, const char* kind, const std::string& said) {
  return fmt::format("<text class=\"{}\" x=\"{:g}\" y=\"{:g}\">{}</text>\n", kind, x, y, escaped(said));
}

std::string one_box(double x, double y, const char* kind, const std::string& title) {
  return fmt::format("<rect class=\"{}\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" rx=\"2\">{}</rect>\n",
                     kind, x, y, box_width - 2, box_height - 2,
                     title.empty() ? "" : "<title>" + escaped(title) + "</title>");
}

std::string word_box(double x, double y, const MemoryWord& w, const char* kind) {
  return one_box(x, y, kind,
                 fmt::format("byte {}: lane{} {}", w.offset, w.lanes.size() > 1 ? "s" : "", fmt::join(w.lanes, ", "))) +
         said_at(x + box_width / 2 - 1, y + 12, "lane", names_of_lanes(w.lanes));
}

/// Sectors are drawn in columns, from the top down, so that 32 of them fit on a screen.
constexpr size_t sectors_below = 8;

double draw_sectors(std::string& svg, const std::vector<MemoryRow>& rows, double top) {
  const double across = first_box + 8 * box_width + 24;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double x = first_box + across * double(i / sectors_below), y = top + box_height * double(i % sectors_below);
    const int64_t sector = rows[i].words.front().offset / sector_bytes * sector_bytes;
    svg += said_at(x - first_box + 8, y + 13, "soft", fmt::format("byte {}", sector));
    size_t next = 0;
    for (int64_t at = 0; at < sector_bytes / word_bytes; ++at) {
      const double box_x = x + box_width * double(at);
      if (next < rows[i].words.size() && rows[i].words[next].offset == sector + at * word_bytes)
        svg += word_box(box_x, y, rows[i].words[next++], "used");
      else
        svg += one_box(box_x, y, "idle", "");
    }
  }
  return top + box_height * double(std::min(rows.size(), sectors_below));
}

double draw_waves(std::string& svg, const std::vector<MemoryRow>& rows, double top) {
  svg += said_at(8, top + 11, "soft", "bank");
  for (int64_t bank = 0; bank < banks; ++bank)
    svg += fmt::format("<text class=\"soft\" text-anchor=\"middle\" x=\"{:g}\" y=\"{:g}\">{}</text>\n",
                       first_box + box_width * (double(bank) + 0.5) - 1, top + 11, bank);
  top += 18;
  int wave = 0;
  for (size_t i = 0; i < rows.size(); ++i, top += box_height) {
    wave = i > 0 && rows[i].lanes == rows[i - 1].lanes ? wave + 1 : 1;
    svg +=
        said_at(8, top + 13, "soft",
                rows[i].lanes.empty() ? fmt::format("wave {}", wave) : fmt::format("{}: wave {}", rows[i].lanes, wave));
    std::array<const MemoryWord*, banks> given{};
    for (const MemoryWord& w : rows[i].words) given[size_t(w.offset / word_bytes % banks)] = &w;
    for (int64_t bank = 0; bank < banks; ++bank) {
      const double x = first_box + box_width * double(bank);
      svg += given[size_t(bank)] ? word_box(x, top, *given[size_t(bank)], wave == 1 ? "used" : "more")
                                 : one_box(x, top, "idle", "");
    }
  }
  return top;
}

std::string counted(uint64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

std::vector<MemoryRow> rows_of(const WarpRequest& request) {
  return request.shared ? waves_of(request) : sectors_of(request);
}

std::string memory_svg(const std::string& lesson, const std::string& code, const std::vector<WarpRequest>& requests) {
  std::string svg;
  double y = 22, right = first_box + box_width * banks + 8;
  svg += said_at(8, y, "code", fmt::format("{}, line {}:  {}", lesson, requests.empty() ? 0 : requests[0].line, code));
  for (const WarpRequest& r : requests) {
    const std::vector<MemoryRow> rows = rows_of(r);
    const auto lanes = std::count_if(r.offset.begin(), r.offset.end(), [](int64_t at) { return at >= 0; });
    y += between_pictures - 10;
    svg += said_at(8, y, "title",
                   fmt::format("{} {} of {} bytes by {} lanes: {}, and {} would do for these bytes",
                               r.shared ? "shared" : "global", r.access, r.access_bytes, lanes,
                               counted(r.cost, r.shared ? "wave" : "sector"), r.ideal));
    y = r.shared ? draw_waves(svg, rows, y + 10) : draw_sectors(svg, rows, y + 10);
    if (!r.shared)
      right =
          std::max(right, (first_box + 8 * box_width + 24) * double((rows.size() + sectors_below - 1) / sectors_below));
    svg +=
        said_at(8, y + 16, "soft",
                r.shared ? "In one wave each bank gives one word of 4 bytes; the number is the lane that gets it. Red: "
                           "a lane that waits for a wave more."
                         : "A row of boxes is a sector of 32 bytes; the number is the lane that wants these 4 bytes. "
                           "Grey: moved for nothing.");
    y += 24;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rungs-memory\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n{2}{3}</svg>\n",
      right, y + 8, memory_style, svg);
}

}  // namespace rungs
