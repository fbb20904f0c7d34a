// What `det plot` is asked to draw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "curve.h"
#include "library_client.h"

namespace det::cli {

struct PlotArguments {
  std::string trial;               // or a metric, where there is an experiment
  std::vector<std::string> words;  // more trials, and metrics
  int64_t experiment = 0;          // 0: not given
  int64_t count = 0;               // of its best trials; 0: all
};

// The trials, and the metrics of them that are wanted.
struct PlotSubjects {
  std::vector<int64_t> trials;
  std::vector<std::string> metrics;
};

// Throws Failure, as those below do.
PlotSubjects find_subjects(Client &client, const PlotArguments &arguments);

// Of an experiment those trials that have the metrics.
std::vector<Curve> read_subjects(Client &client, const PlotSubjects &subjects,
                                 const PlotArguments &arguments, bool with_epochs);

// "trial 1: digits", "trials 1, 2", "experiment 3".
std::string title_of(Client &client, const PlotSubjects &subjects, const PlotArguments &arguments);

}  // namespace det::cli
