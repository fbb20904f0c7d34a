// det plot of a search.
#pragma once

#include "command.h"
#include "plot_output.h"

namespace det::cli {

struct SearchPlot {
  bool parallel = false, importance = false, slices = false;
  explicit operator bool() const { return parallel || importance || slices; }
};

// Declares --parallel, --importance and --slices, of which one can be given.
void add_search_plot(CLI::App *command, SearchPlot &plot);

enum class PlotValues { drawn, csv, json };

// Throws Failure.
void plot_search(const Session &session, int64_t experiment, const SearchPlot &plot,
                 bool log_metric, PlotValues values, const PlotOutput &output);

}  // namespace det::cli
