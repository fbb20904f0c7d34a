// What TensorBoard's plugin "hparams" knows of a search: its table and its parallel coordinates.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace det::tensorboard {

// A curve that the table has a column for.
struct MetricColumn {
  std::string tag;
  bool of_validation = false;
};

// Events of the run of one trial. TensorBoard keeps what it reads first of each kind, so that of a
// trial of several runs the first start counts, and a run whose trial goes on writes no end.
//
// The hyperparameters of the trial; empty where it has none.
std::string session_start_event(double wall_time, const Json &hparams);
std::string session_end_event(double wall_time, bool succeeded);

// The search as a whole, from the configuration of the experiment: every trial writes it, and
// TensorBoard takes any. Empty where the configuration has no hyperparameters: TensorBoard then
// goes by those of the trials.
std::string search_event(double wall_time, const Json &config,
                         const std::vector<MetricColumn> &metrics);

}  // namespace det::tensorboard
