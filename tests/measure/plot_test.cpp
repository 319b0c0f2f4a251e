#include "rungs/measure/plot.hpp"

#include "rungs/base/file.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("measure");

TEST_CASE("a picture has its labels as they were written, and logarithmic axes without numbers of 0") {
  if (!has_gnuplot()) {
    MESSAGE("SKIPPED: gnuplot is not installed");
    return;
  }
  const Folder folder;
  Panel panel{"a \"panel\" of 'two'", "x", "y", {}, true, true};
  panel.curves.push_back({"roof", "#555555", {0.1, 1, 100}, {2, 20, 20}, Curve::Style::line});
  panel.curves.push_back(
      {"", "#00798c", {0, 1, 50}, {1, 10, 20}, Curve::Style::points, {"never_seen", "down_projection", "it's \"up\""}});
  for (const bool below : {false, true}) {
    panel.key_below = below;
    draw_picture(folder / "picture.svg", "Roofs", {panel});
    const std::string svg = read_text(folder / "picture.svg");
    for (const std::string text : {"Roofs", "a \"panel\" of 'two'", "down_projection", "it's \"up\"", ">roof<"}) {
      CAPTURE(text);
      CHECK(svg.find(text) != std::string::npos);
    }
    CHECK(svg.find("never_seen") == std::string::npos);
  }
  // What comes from outside may not become a command.
  const std::string command = "system \"touch " + (folder / "touched").string() + "\"";
  panel.title = panel.x_label = "it's\n" + command + "\n#";
  panel.curves[0].name = "'\n" + command + "\n#'`" + command + "`";
  panel.curves[1].labels = {"a", "b\n" + command, "`touch " + (folder / "touched").string() + "`"};
  draw_picture(folder / "picture.svg", "Roofs'\n" + command, {panel});
  panel.curves.clear();
  draw_picture(folder / "empty.png", "nothing to see", {panel, panel});
  CHECK(folder.files() == std::vector<std::string>{"empty.png", "picture.svg"});
}

TEST_SUITE_END();
