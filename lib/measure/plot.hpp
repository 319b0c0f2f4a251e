/// Curves drawn by gnuplot, which is asked through a pipe: PNG, SVG, and text for the terminal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rungs {

struct Curve {
  std::string name;
  std::string colour;  ///< "#rrggbb"
  std::vector<double> x, y;
};

struct Panel {
  std::string title, x_label, y_label;
  std::vector<Curve> curves;
};

bool has_gnuplot();

/// One picture of all panels beside each other; .png or .svg. \throws FileError; no partial file is left.
void draw_picture(const std::filesystem::path& path, const std::string& title, const std::vector<Panel>& panels);

/// The panels below each other, in characters, on stdout.
void draw_in_terminal(const std::vector<Panel>& panels);

}  // namespace rungs
