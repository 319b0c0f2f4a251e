#include "measure/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tensor/error.hpp"

namespace rungs {

namespace {

/// A word between gnuplot's single quotes.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

bool run_gnuplot(const std::string& script) {
  std::fflush(stdout);
  std::FILE* pipe = popen("gnuplot", "w");
  if (!pipe) return false;
  const bool written = std::fwrite(script.data(), 1, script.size(), pipe) == script.size();
  return pclose(pipe) == 0 && written;
}

/// The axes of a panel and the data of its curves.
std::string axes(const Panel& panel, size_t number) {
  std::string script;
  double largest = 0;
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const Curve& curve = panel.curves[i];
    script += fmt::format("$curve_{}_{} << END\n", number, i);
    for (size_t n = 0; n < curve.x.size(); ++n) script += fmt::format("{} {}\n", curve.x[n], curve.y[n]);
    script += "END\n";
    for (const double x : curve.x) largest = std::max(largest, x);
  }
  return script + fmt::format("set title {}\nset xlabel {}\nset ylabel {}\nset xrange [0:{}]\nset yrange [0:*]\n",
                              quoted(panel.title), quoted(panel.x_label), quoted(panel.y_label), largest * 1.04);
}

}  // namespace

bool has_gnuplot() { return std::system("command -v gnuplot >/dev/null 2>&1") == 0; }

void draw_picture(const std::filesystem::path& path, const std::string& title, const std::vector<Panel>& panels) {
  const std::filesystem::path part = path.string() + ".part";
  const bool png = path.extension() == ".png";
  const size_t width = 560 * panels.size(), height = 480;
  std::string script =
      png ? fmt::format("set terminal pngcairo size {},{} font 'Sans,20' linewidth 2\n", 2 * width, 2 * height)
          : fmt::format("set terminal svg size {},{} font 'Sans,13' background 'white'\n", width, height);
  script += fmt::format("set output {}\n", quoted(part.string()));
  script += "set border 3 lc rgb '#555555'\nset tics nomirror out textcolor rgb '#333333'\n";
  script += "set grid ytics lc rgb '#dddddd' lt 1\nset key top left Left reverse noenhanced\n";
  script += fmt::format("set multiplot layout 1,{} title {} noenhanced font ',{}'\n", panels.size(), quoted(title),
                        png ? 26 : 17);
  for (size_t p = 0; p < panels.size(); ++p) {
    script += axes(panels[p], p) + "plot ";
    for (size_t i = 0; i < panels[p].curves.size(); ++i)
      script += fmt::format("{}$curve_{}_{} with linespoints lw 2 pt 7 ps {} lc rgb '{}' title {}", i ? ", " : "", p, i,
                            png ? 1.4 : 0.6, panels[p].curves[i].colour, quoted(panels[p].curves[i].name));
    script += "\n";
  }
  script += "unset multiplot\nunset output\n";
  std::error_code error;
  if (run_gnuplot(script)) std::filesystem::rename(part, path, error);
  if (!std::filesystem::exists(part, error) && std::filesystem::exists(path, error)) return;
  std::filesystem::remove(part, error);
  throw FileError(path.string() + ": gnuplot could not draw this picture");
}

void draw_in_terminal(const std::vector<Panel>& panels) {
  std::string script =
      "set terminal dumb noenhanced size 79,22\nset tics nomirror\nset border 3\nset key top left Left\n";
  for (size_t p = 0; p < panels.size(); ++p) {
    script += axes(panels[p], p) + "plot ";
    for (size_t i = 0; i < panels[p].curves.size(); ++i) {
      const char letter = panels[p].curves[i].name[0];  // stands at each point
      script += fmt::format("{}$curve_{}_{} with linespoints pt '{}' title {}", i ? ", " : "", p, i, letter,
                            quoted(panels[p].curves[i].name));
    }
    script += "\n";
  }
  run_gnuplot(script);
}

}  // namespace rungs
