// What the drawings are made of, over Cairo and Pango. Lengths are points, from the left and above.
#pragma once

#include <pango/pangocairo.h>

#include <string>
#include <vector>

#include "palette.h"
#include "wrappers/cli/series.h"

namespace det::cli {

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

}  // namespace det::cli
