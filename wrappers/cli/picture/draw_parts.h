// What the kinds of figures share.
#pragma once

#include <string>

#include "canvas.h"
#include "wrappers/cli/figure.h"

namespace det::cli {

constexpr double margin = 14;  // around everything

// Answers where what is under it begins.
double draw_title(Canvas &canvas, const std::string &title);

// Left of `frame`, with its lines across it, for values that stand in `box`.
void draw_y_axis(Canvas &canvas, const Box &frame, const Box &box, const Axis &axis);
// Under `frame`.
void draw_x_axis(Canvas &canvas, const Box &frame, const Box &box, const Axis &axis);

// The colours of viridis() in `box`, dark on the left, or below where that is higher than wide.
void draw_colours(Canvas &canvas, const Box &box);

// One each, over the whole canvas.
void draw(Canvas &canvas, const Panels &panels);
void draw(Canvas &canvas, const Parallel &parallel);
void draw(Canvas &canvas, const Bars &bars);

}  // namespace det::cli
