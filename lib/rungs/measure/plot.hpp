/// Curves drawn by gnuplot, which is asked through a pipe: PNG, SVG, and text for the terminal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rungs {

/// Its points, joined by lines or not.
struct Curve {
  enum class Style { points_and_line, points, line, dashed };

  std::string name;    ///< in the key; "": not there. In the terminal its first letter stands at each point
  std::string colour;  ///< "#rrggbb"
  std::vector<double> x, y;
  Style style = Style::points_and_line;
  std::vector<std::string> labels = {};  ///< beside the points, one each; or none
};

/// One pair of axes. A logarithmic one shows numbers above 0 alone; the others begin at 0.
struct Panel {
  std::string title, x_label, y_label;
  std::vector<Curve> curves;
  bool log_x = false, log_y = false;
  bool key_below = false;  ///< not within the axes, where there is no room above the curves
};

/// The command gnuplot is installed.
bool has_gnuplot();

/// One picture of all panels beside each other; .png or .svg. \throws FileError; no partial file is left.
void draw_picture(const std::filesystem::path& path, const std::string& title, const std::vector<Panel>& panels);

/// STEM.png and STEM.svg, in a folder that is made where there is none. False, and nothing drawn, where gnuplot is not
/// installed. \throws FileError
bool draw_pictures(const std::filesystem::path& stem, const std::string& title, const std::vector<Panel>& panels);

/// What to say then.
inline constexpr const char* gnuplot_missing =
    "gnuplot is not installed, so there is no plot: sudo apt-get install gnuplot-nox";

/// The panels below each other, in characters, on stdout.
void draw_in_terminal(const std::vector<Panel>& panels);

}  // namespace rungs
