// What a plot shows, however it is drawn. Names and labels must be printable.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "wrappers/cli/plot/axis.h"
#include "wrappers/cli/plot/series.h"

namespace det::cli {

// Lines, or dots, over two axes.
struct Panel {
  std::string name;  // where there are several
  std::vector<Series> series;
  Dimension x, y;
  bool dots = false;

  bool has_values() const;
};

struct Panels {
  std::string title;
  std::vector<Panel> panels;
};

// A line for each trial through an axis for each hyperparameter, the last one the metric.
struct Parallel {
  std::string title;
  std::vector<Dimension> dimensions;
  std::vector<std::vector<double>> trials;  // a value for each dimension, NaN for none; worst first
};

struct Bar {
  std::string name;
  double value = 0, error = 0;  // from 0; the standard error
};

struct Bars {
  std::string title, label;
  std::vector<Bar> bars;
  std::vector<std::string> notes;  // a line each
};

using Figure = std::variant<Panels, Parallel, Bars>;

struct Axes {
  Axis x, y;
};

// Just as far as the data reaches, with about so many ticks. For a panel that has values.
Axes fit_axes(const Panel &panel, int x_ticks, int y_ticks);

// The axes of the dimensions.
std::vector<Axis> fit_axes(const Parallel &parallel, int ticks);

}  // namespace det::cli
