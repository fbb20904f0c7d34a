// Where a figure goes: a file, the terminal as a picture, or the output as text.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "wrappers/cli/command.h"
#include "wrappers/cli/plot/figure.h"

namespace det::cli {

struct PlotOutput {
  std::string file, format;       // "-": standard output
  int width = 800, height = 450;  // of the picture in a file, in points
  std::string picture = "auto";
  bool ascii = false;
};

// Declares -o, --format, --size, --picture and --ascii.
void add_plot_output(CLI::App *command, PlotOutput &output);

// Throws Failure (usage) for what cannot be written, before anything is read.
void check_plot_output(const PlotOutput &output);

// For a figure that has values. Throws Failure; no half file is left.
void show_plot(const Session &session, const Figure &figure, const PlotOutput &output);

}  // namespace det::cli
