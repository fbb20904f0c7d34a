#include "svg.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace det::cli {

namespace {

constexpr double left = 80, top = 40, width = 640, height = 360, legend_line = 20;

// Told apart also without full colour vision, and in print by their dashes.
constexpr std::array<const char *, 6> svg_colours = {"#0072b2", "#d55e00", "#009e73",
                                                     "#cc79a7", "#56b4e9", "#e69f00"};
constexpr std::array<const char *, 4> dashes = {"none", "8 4", "2 3", "10 3 2 3"};

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", std::round(value * 100) / 100);
  return text;
}

std::string escaped(const std::string &text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string text(double x, double y, const std::string &attributes, const std::string &content) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + attributes + ">" +
         escaped(content) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const std::string &attributes) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" " + attributes + "/>\n";
}

double x_position(const Axes &axes, double x) { return left + axes.x.fraction(x) * width; }
double y_position(const Axes &axes, double y) { return top + (1 - axes.y.fraction(y)) * height; }

std::string grid(const Axes &axes) {
  std::string out;
  for (size_t i = 0; i < axes.y.ticks.size(); ++i) {
    const double y = y_position(axes, axes.y.ticks[i]);
    out += line(left, y, left + width, y, "stroke=\"#ddd\"");
    out += text(left - 8, y + 4, " text-anchor=\"end\"", axes.y.labels[i]);
  }
  for (size_t i = 0; i < axes.x.ticks.size(); ++i) {
    const double x = x_position(axes, axes.x.ticks[i]), bottom = top + height;
    out += line(x, bottom, x, bottom + 5, "stroke=\"#333\"");
    out += text(x, bottom + 20, " text-anchor=\"middle\"", axes.x.labels[i]);
  }
  out += line(left, top + height, left + width, top + height, "stroke=\"#333\"");
  out += line(left, top, left, top + height, "stroke=\"#333\"");
  return out + text(left + width / 2, top + height + 40, " text-anchor=\"middle\"", "steps");
}

// One path, which is lifted at gaps; a point between two gaps is a dot through its round ends.
std::string path(const Series &series, const Axes &axes, const std::string &style) {
  std::string data;
  bool drawing = false;
  for (const Point &point : thinned(series.points, axes.x, static_cast<size_t>(width))) {
    const bool finite = std::isfinite(point.y);
    if (finite) {
      const std::string at =
          number(x_position(axes, point.x)) + " " + number(y_position(axes, point.y));
      data += drawing ? "L" + at : "M" + at + "L" + at;
    }
    drawing = finite;
  }
  return "<path d=\"" + data + "\" fill=\"none\" stroke-width=\"2\" stroke-linecap=\"round\" " +
         style + "/>\n";
}

}  // namespace

std::string render_svg(const std::vector<Series> &series, const std::string &title) {
  const auto axes = fit_axes(series, 8, 6);
  if (!axes) return "";
  const double total_width = left + width + 20;
  const double legend = top + height + 60;
  const double total_height = legend + legend_line * static_cast<double>(series.size());
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
                    number(total_width) + " " + number(total_height) + "\" width=\"" +
                    number(total_width) + "\" height=\"" + number(total_height) +
                    "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
                    text(left, 24, " font-size=\"16\"", title) + grid(*axes);
  for (size_t i = 0; i < series.size(); ++i) {
    const std::string style = "stroke=\"" + std::string(svg_colours[i % svg_colours.size()]) +
                              "\" stroke-dasharray=\"" + dashes[i % dashes.size()] + "\"";
    const double y = legend + legend_line * static_cast<double>(i);
    out += path(series[i], *axes, style);
    out += line(left, y, left + 30, y, "stroke-width=\"2\" " + style);
    out += text(left + 40, y + 4, "", series[i].name + ": " + summary(series[i]));
  }
  return out + "</svg>\n";
}

}  // namespace det::cli
