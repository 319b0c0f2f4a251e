/// One picture as a figure of HTML with SVG in it. Colours are classes: the page around has the variables.
#pragma once

#include "picture.hpp"

namespace rungs {

inline constexpr int svg_levels = 12;  ///< shades of either sign

/// Text for HTML, in attributes too: no character that means something there, and no broken UTF-8.
std::string escaped(const std::string& text);

/// \name A figure
///@{
std::string to_svg(const Matrix& matrix);
std::string to_svg(const Bars& bars);
std::string to_svg(const Lines& lines);
std::string to_svg(const Points& points);
std::string to_svg(const Tree& tree);
///@}

}  // namespace rungs
