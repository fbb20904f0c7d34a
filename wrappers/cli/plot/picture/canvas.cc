#include "wrappers/cli/plot/picture/canvas.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace det::cli {

namespace {

constexpr const char *fonts = "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif";

using Layout = std::unique_ptr<PangoLayout, void (*)(gpointer)>;

constexpr double longest_label = 90;
const Pen frame_pen{grey, 0.8, 1, {}}, grid_pen{pale, 0.8, 1, {}};

}  // namespace

Rgb viridis(double part) {
  constexpr std::array anchors = {rgb(0x440154), rgb(0x482878), rgb(0x3e4a89),
                                  rgb(0x31688e), rgb(0x26828e), rgb(0x1f9e89),
                                  rgb(0x35b779), rgb(0x6ece58), rgb(0xb5de2b)};
  const double place = std::clamp(part, 0.0, 1.0) * (anchors.size() - 1);
  const auto from = std::min(static_cast<size_t>(place), anchors.size() - 2);
  const double rest = place - static_cast<double>(from);
  const auto between = [&](double a, double b) { return a + (b - a) * rest; };
  return {between(anchors[from].red, anchors[from + 1].red),
          between(anchors[from].green, anchors[from + 1].green),
          between(anchors[from].blue, anchors[from + 1].blue)};
}

Canvas::Canvas(cairo_t *cairo, double width, double height)
    : cairo_(cairo), width_(width), height_(height) {
  set(rgb(0xffffff));
  cairo_paint(cairo_);
  cairo_set_line_cap(cairo_, CAIRO_LINE_CAP_ROUND);
  cairo_set_line_join(cairo_, CAIRO_LINE_JOIN_BEVEL);
}

void Canvas::set(Rgb colour, double opacity) {
  cairo_set_source_rgba(cairo_, colour.red, colour.green, colour.blue, opacity);
}

void Canvas::line(Point from, Point to, const Pen &pen) { path({from, to}, pen); }

void Canvas::path(const std::vector<Point> &places, const Pen &pen) {
  set(pen.colour, pen.opacity);
  cairo_set_line_width(cairo_, pen.width);
  cairo_set_dash(cairo_, pen.dashes.data(), static_cast<int>(pen.dashes.size()), 0);
  bool drawing = false;
  for (const Point &place : places) {
    const bool finite = std::isfinite(place.y);
    if (finite && !drawing) cairo_move_to(cairo_, place.x, place.y);
    if (finite) cairo_line_to(cairo_, place.x, place.y);  // a dot, where it is the only one
    drawing = finite;
  }
  cairo_stroke(cairo_);
}

void Canvas::dot(Point at, double radius, Rgb colour, double opacity) {
  set(colour, opacity);
  cairo_arc(cairo_, at.x, at.y, radius, 0, 2 * M_PI);
  cairo_fill(cairo_);
}

void Canvas::fill(const Box &box, Rgb colour) {
  set(colour);
  cairo_rectangle(cairo_, box.left, box.top, box.width(), box.height());
  cairo_fill(cairo_);
}

PangoLayout *Canvas::lay_out(const std::string &text, const TextStyle &style) {
  PangoLayout *layout = pango_cairo_create_layout(cairo_);
  PangoFontDescription *font = pango_font_description_from_string(fonts);
  pango_font_description_set_absolute_size(font, style.size * PANGO_SCALE);
  if (style.bold) pango_font_description_set_weight(font, PANGO_WEIGHT_BOLD);
  pango_layout_set_font_description(layout, font);
  pango_font_description_free(font);
  pango_layout_set_single_paragraph_mode(layout, TRUE);
  if (style.room > 0) {
    pango_layout_set_width(layout, static_cast<int>(style.room * PANGO_SCALE));
    pango_layout_set_ellipsize(layout,
                               style.keep_end ? PANGO_ELLIPSIZE_MIDDLE : PANGO_ELLIPSIZE_END);
  }
  pango_layout_set_text(layout, text.data(), static_cast<int>(text.size()));
  return layout;
}

void Canvas::text(Point at, const std::string &text, const TextStyle &style) {
  const Layout layout(lay_out(text, style), g_object_unref);
  PangoRectangle around;
  pango_layout_get_extents(layout.get(), nullptr, &around);
  set(style.colour);
  cairo_save(cairo_);
  cairo_translate(cairo_, at.x, at.y);
  if (style.upwards) cairo_rotate(cairo_, -M_PI / 2);
  cairo_translate(cairo_, -style.across * around.width / PANGO_SCALE,
                  -style.down * around.height / PANGO_SCALE);
  pango_cairo_show_layout(cairo_, layout.get());
  cairo_restore(cairo_);
}

double Canvas::text_width(const std::string &text, const TextStyle &style) {
  const Layout layout(lay_out(text, style), g_object_unref);
  PangoRectangle around;
  pango_layout_get_extents(layout.get(), nullptr, &around);
  return static_cast<double>(around.width) / PANGO_SCALE;
}

double draw_title(Canvas &canvas, const std::string &title) {
  if (title.empty()) return margin;
  canvas.text({margin, margin + 8}, title,
              {.size = 14, .bold = true, .room = canvas.width() - 2 * margin});
  return margin + 26;
}

void draw_y_axis(Canvas &canvas, const Box &frame, const Box &box, const Axis &axis) {
  const auto place = [&](double value) { return box.bottom - axis.fraction(value) * box.height(); };
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const double y = place(axis.ticks[i]);
    canvas.line({frame.left, y}, {frame.right, y}, grid_pen);
    canvas.text({frame.left - 7, y}, axis.labels[i], {.across = 1, .room = 0});
  }
  for (const double tick : axis.minor)
    canvas.line({frame.left - 3, place(tick)}, {frame.left, place(tick)}, frame_pen);
  canvas.line({frame.left, frame.top}, {frame.left, frame.bottom}, frame_pen);
}

void draw_x_axis(Canvas &canvas, const Box &frame, const Box &box, const Axis &axis) {
  canvas.line({frame.left, frame.bottom}, {frame.right, frame.bottom}, frame_pen);
  const auto place = [&](double value) { return box.left + axis.fraction(value) * box.width(); };
  double free_from = -1e9;
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const double x = place(axis.ticks[i]);
    canvas.line({x, frame.bottom}, {x, frame.bottom + 4}, frame_pen);
    const double width = std::min(canvas.text_width(axis.labels[i]), longest_label);
    const double begin = std::min(x - width / 2, canvas.width() - margin / 2 - width);
    if (begin < free_from) continue;
    canvas.text({begin, frame.bottom + 14}, axis.labels[i], {.room = width + 1});
    free_from = begin + width + 6;
  }
  for (const double tick : axis.minor)
    canvas.line({place(tick), frame.bottom}, {place(tick), frame.bottom + 2.5}, frame_pen);
}

void draw_colours(Canvas &canvas, const Box &box) {
  constexpr int shades = 64;
  const bool upwards = box.height() > box.width();
  for (int i = 0; i < shades; ++i) {
    // The next one is drawn over its end: no gap shows between them.
    const double from = static_cast<double>(i) / shades, to = std::min(1.0, from + 1.5 / shades);
    Box part = box;
    if (upwards) {
      part.bottom = box.bottom - from * box.height();
      part.top = box.bottom - to * box.height();
    } else {
      part.left = box.left + from * box.width();
      part.right = box.left + to * box.width();
    }
    canvas.fill(part, viridis(static_cast<double>(i) / (shades - 1)));
  }
}

}  // namespace det::cli
