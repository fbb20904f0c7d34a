#include "canvas.h"

#include <cmath>
#include <memory>

namespace det::cli {

namespace {

constexpr const char *fonts = "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif";

using Layout = std::unique_ptr<PangoLayout, void (*)(gpointer)>;

}  // namespace

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

}  // namespace det::cli
