#include "rungs/measure/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "rungs/base/error.hpp"
#include "rungs/base/text.hpp"

namespace rungs {

namespace {

/// A word between gnuplot's single quotes, in which it substitutes nothing; a quote in it is doubled, which gnuplot
/// misreads where it comes first. A line break would end the word, and what follows it would be a command.
std::string quoted(const std::string& text) {
  std::string out = text.starts_with('\'') ? "' " : "'";
  for (const char c : printable(text)) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

bool run_gnuplot(const std::string& script) {
  std::fflush(stdout);
  std::FILE* pipe = popen("gnuplot", "w");
  if (!pipe) return false;
  const bool written = std::fwrite(script.data(), 1, script.size(), pipe) == script.size();
  return pclose(pipe) == 0 && written;
}

/// A column of the picture: a number, or a label.
std::string double_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : printable(text)) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

/// "[first:last]" of one axis that shows these numbers, and on a logarithmic one room for `beyond` times the last.
std::string range(const std::vector<double>& numbers, bool log, double beyond) {
  if (numbers.empty()) return log ? "[1:10]" : "[0:1]";
  const auto [least, largest] = std::minmax_element(numbers.begin(), numbers.end());
  return log ? fmt::format("[{}:{}]", *least / 1.3, *largest * beyond) : fmt::format("[0:{}]", *largest * 1.04);
}

/// Tics of a logarithmic axis: powers of ten, and where there are few of them 2 and 5 times those.
std::string tics(char axis, const std::vector<double>& numbers, bool log) {
  if (!log || numbers.empty()) return fmt::format("set {}tics autofreq\n", axis);
  const auto [least, largest] = std::minmax_element(numbers.begin(), numbers.end());
  const bool few = *largest / *least < 300;
  std::string list;
  for (double power = std::pow(10, std::floor(std::log10(*least)) - 1); power <= *largest * 10; power *= 10)
    for (const double times : {1, 2, 5})
      if (times == 1 || few) list += fmt::format("{}{:g}", list.empty() ? "" : ", ", power * times);
  return fmt::format("set {}tics ({})\n", axis, list);
}

/// The axes of a panel and the data of its curves.
std::string axes(const Panel& panel, size_t number) {
  std::string script;
  std::vector<double> x, y;
  bool labelled = false;
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const Curve& curve = panel.curves[i];
    labelled = labelled || !curve.labels.empty();
    script += fmt::format("$curve_{}_{} << END\n", number, i);
    for (size_t n = 0; n < curve.x.size(); ++n)
      if ((!panel.log_x || curve.x[n] > 0) && (!panel.log_y || curve.y[n] > 0)) {
        const std::string label = curve.labels.empty() ? "" : " " + double_quoted(curve.labels[n]);
        script += fmt::format("{} {}{}\n", curve.x[n], curve.y[n], label);
        x.push_back(curve.x[n]), y.push_back(curve.y[n]);
      }
    script += "END\n";
  }
  const char* place = panel.key_below ? "set key below center horizontal maxrows auto samplen 4 height 1\n"
                                      : "set key inside top left vertical height 0 samplen 4\n";
  script += std::string(place) + "unset logscale\n";
  if (panel.log_x) script += "set logscale x\n";
  if (panel.log_y) script += "set logscale y\n";
  script += tics('x', x, panel.log_x) + tics('y', y, panel.log_y);
  return script +
         fmt::format("set title {}\nset xlabel {}\nset ylabel {}\nset xrange {}\nset yrange {}\n", quoted(panel.title),
                     quoted(panel.x_label), quoted(panel.y_label),
                     range(x, panel.log_x, labelled ? 5 : 1.3),  // a label stands right of its point
                     panel.log_y ? range(y, true, panel.key_below ? 1.3 : 3) : "[0:*]");  // the key stands above
}

bool has_points(const Curve& curve) { return curve.style <= Curve::Style::points; }

/// "plot ..." of a panel's curves, and of their labels. `look`: how the points and lines of a curve look.
template <class Look>
std::string plot(const Panel& panel, size_t number, const std::string& labels, const Look& look) {
  constexpr const char* with[] = {"linespoints", "points", "lines", "lines"};
  std::string script;
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const Curve& curve = panel.curves[i];
    const std::string title = curve.name.empty() ? "notitle" : "title " + quoted(curve.name);
    script += fmt::format("{}$curve_{}_{} using 1:2 with {} {} {}", i ? ", " : "plot ", number, i,
                          with[size_t(curve.style)], look(curve), title);
    if (!curve.labels.empty())
      script += fmt::format(", $curve_{}_{} using 1:2:3 with labels {} noenhanced notitle", number, i, labels);
  }
  return script + "\n";
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
  const auto look = [png](const Curve& curve) {
    const std::string point = fmt::format(" pt 7 ps {}", png ? 1.4 : 0.6);
    const char* dashes = curve.style == Curve::Style::dashed ? " dt 2" : "";
    return fmt::format("lw 2{} lc rgb '{}'", has_points(curve) ? point : dashes, curve.colour);
  };
  const std::string labels = fmt::format("left offset 0.7,-0.5 font ',{}' tc rgb '#333333'", png ? 16 : 11);
  for (size_t p = 0; p < panels.size(); ++p) script += axes(panels[p], p) + plot(panels[p], p, labels, look);
  script += "unset multiplot\nunset output\n";
  std::error_code error;
  if (run_gnuplot(script)) std::filesystem::rename(part, path, error);
  if (!std::filesystem::exists(part, error) && std::filesystem::exists(path, error)) return;
  std::filesystem::remove(part, error);
  throw FileError(path.string() + ": gnuplot could not draw this picture");
}

bool draw_pictures(const std::filesystem::path& stem, const std::string& title, const std::vector<Panel>& panels) {
  if (!has_gnuplot()) return false;
  if (stem.has_parent_path()) std::filesystem::create_directories(stem.parent_path());
  for (const char* kind : {".png", ".svg"}) draw_picture(stem.string() + kind, title, panels);
  return true;
}

void draw_in_terminal(const std::vector<Panel>& panels) {
  std::string script =
      "set terminal dumb noenhanced size 79,22\nset tics nomirror\nset border 3\nset key top left Left\n";
  const auto look = [](const Curve& curve) {
    if (!has_points(curve)) return std::string();
    return fmt::format("pt '{}'", curve.name.empty() ? '*' : curve.name[0]);
  };
  for (size_t p = 0; p < panels.size(); ++p) script += axes(panels[p], p) + plot(panels[p], p, "left offset 1,0", look);
  run_gnuplot(script);
}

}  // namespace rungs
