#include "plot_subjects.h"

#include <optional>
#include <utility>

#include "core/base/printable.h"
#include "curve_reader.h"
#include "exit_code.h"
#include "field_text.h"
#include "ids.h"

namespace det::cli {

namespace {

// What a search compares; none where the configuration does not name it.
std::vector<std::string> searcher_metric(Client &client, int64_t experiment) {
  const Json answer = client.experiment(experiment);
  const Json &metric = field(field(field(answer, "config"), "searcher"), "metric");
  if (!metric.is_string()) return {};
  return {"validation." + metric.get<std::string>()};
}

bool names_no_metric(const PlotArguments &arguments) {
  return arguments.trial.empty() && arguments.words.empty();
}

}  // namespace

PlotSubjects find_subjects(Client &client, const PlotArguments &arguments) {
  PlotSubjects subjects;
  if (arguments.experiment != 0) {
    client.best_trial(arguments.experiment);  // an unknown one is an error
    const auto take = [&](const Json &trial) {
      subjects.trials.push_back(field(trial, "id").get<int64_t>());
      return true;
    };
    client.each_trial(arguments.experiment, take, {Order::best_first, arguments.count});
    if (!arguments.trial.empty()) subjects.metrics.push_back(arguments.trial);
  } else {
    subjects.trials.push_back(find_trial(client, arguments.trial));
  }
  for (const std::string &word : arguments.words) {
    const bool number = word.find_first_not_of("0123456789") == word.npos;
    if (arguments.experiment == 0 && (number || word.starts_with("external:")))
      subjects.trials.push_back(find_trial(client, word));
    else subjects.metrics.push_back(word);
  }
  if (subjects.trials.size() > 1 && names_no_metric(arguments))
    subjects.metrics = searcher_metric(client, arguments.experiment);
  return subjects;
}

std::vector<Curve> read_subjects(Client &client, const PlotSubjects &subjects,
                                 const PlotArguments &arguments, bool with_epochs) {
  const bool of_experiment = arguments.experiment != 0;
  std::vector<Curve> curves;
  std::optional<Failure> missing;
  for (const int64_t trial : subjects.trials) {
    try {
      for (Curve &curve : read_curves(client, trial, subjects.metrics, with_epochs))
        curves.push_back(std::move(curve));
    } catch (const Failure &failure) {
      if (!of_experiment || failure.code != ExitCode::not_found) throw;
      missing = failure;
    }
  }
  if (!curves.empty() || !missing) return curves;
  if (subjects.metrics.empty() || !names_no_metric(arguments)) throw *missing;
  return read_subjects(client, {subjects.trials, {}}, arguments, with_epochs);
}

std::string title_of(Client &client, const PlotSubjects &subjects, const PlotArguments &arguments) {
  const std::vector<int64_t> &trials = subjects.trials;
  if (arguments.experiment != 0)
    return "experiment " + std::to_string(arguments.experiment) + ": " +
           printable(text_of(field(client.experiment(arguments.experiment), "name")));
  const Json first = client.trial(trials.front());
  std::string title = (trials.size() == 1 ? "trial " : "trials ") + std::to_string(trials[0]);
  for (size_t i = 1; i < trials.size(); ++i) title += ", " + std::to_string(trials[i]);
  return trials.size() > 1 ? title : title + ": " + printable(text_of(field(first, "name")));
}

}  // namespace det::cli
