// What the kinds of figures share.
#pragma once

#include <pango/pangocairo.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "wrappers/cli/plot/figure.h"
#include "wrappers/cli/plot/series.h"

namespace det::cli {

struct Rgb {
  double red, green, blue;
};

constexpr Rgb rgb(unsigned hex) {
  return {(hex >> 16) / 255.0, (hex >> 8 & 0xFF) / 255.0, (hex & 0xFF) / 255.0};
}

constexpr Rgb ink = rgb(0x262626), grey = rgb(0x737373), pale = rgb(0xe3e3e3);

// Of Okabe and Ito, without the yellow that is too pale for a line on white.
constexpr std::array line_colours = {rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73), rgb(0xcc79a7),
                                     rgb(0xe69f00), rgb(0x56b4e9), rgb(0x444444)};

// The scale viridis: from 0, dark, to 1, bright.
Rgb viridis(double part);

struct Pen {
  Rgb colour = ink;
  double width = 1, opacity = 1;
  std::vector<double> dashes = {};
};

struct TextStyle {
  double size = 11;
  double across = 0,
         down = 0.5;  // which part of the text stands at the place: 0 its start, 1 its end
  Rgb colour = ink;
  bool bold = false;
  bool upwards = false;
  double room = 0;        // what is longer is cut with an ellipsis; 0: any length
  bool keep_end = false;  // cut in the middle
};

struct Box {
  double left, top, right, bottom;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

class Canvas {
 public:
  // `cairo` is the caller's. On a white ground.
  Canvas(cairo_t *cairo, double width, double height);

  double width() const { return width_; }
  double height() const { return height_; }

  void line(Point from, Point to, const Pen &pen);
  // Through these places, lifted where y is not finite; a place between two gaps is a dot.
  void path(const std::vector<Point> &places, const Pen &pen);
  void dot(Point at, double radius, Rgb colour, double opacity = 1);
  void fill(const Box &box, Rgb colour);
  void text(Point at, const std::string &text, const TextStyle &style = {});
  double text_width(const std::string &text, const TextStyle &style = {});

  // Nothing outside of `box` is drawn meanwhile.
  template <class Action>
  void within(const Box &box, const Action &action) {
    cairo_save(cairo_);
    cairo_rectangle(cairo_, box.left, box.top, box.width(), box.height());
    cairo_clip(cairo_);
    action();
    cairo_restore(cairo_);
  }

 private:
  void set(Rgb colour, double opacity = 1);
  PangoLayout *lay_out(const std::string &text, const TextStyle &style);

  cairo_t *cairo_;
  double width_, height_;
};

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
