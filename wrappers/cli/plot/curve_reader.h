// The curves of trials, from a store or a master.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wrappers/cli/library_client.h"

namespace det::cli {

// What a report of one metric says. What it does not say is NaN.
struct Sample {
  double steps, epoch, time;  // seconds since 1970
  double value;
};

struct Curve {
  int64_t trial = 0;
  std::string group, metric;  // of nested values with dots: "agent.cpu_util_simple"
  std::vector<Sample> samples;
  double start = 0;  // the time of the first sample among the curves of the trial
};

struct Report {
  std::string group;
  double steps = 0;  // NaN: of a time alone
  std::string time;  // as it is written; empty: not known
  // With dots in the names of nested ones. NaN also for null; what is no number is left out.
  std::vector<std::pair<std::string, double>> values;
};

// Of one answer of det_client_list_metrics(). Answers its `next`. Throws Failure.
std::optional<int64_t> parse_reports(std::string_view answer,
                                     const std::function<void(const Report &report)> &take);

class CurveBuilder {
 public:
  // `epoch_length` in steps; NaN: not known.
  CurveBuilder(int64_t trial, double epoch_length) : trial_(trial), epoch_length_(epoch_length) {}

  void add(const Report &report);

  // The epoch of a sample is what its report says in a metric "epoch"; else what the report before
  // it, by steps, says; else the steps by the length of an epoch.
  std::vector<Curve> take();

 private:
  Curve &curve_of(const std::string &group, const std::string &metric);
  double epoch_at(double steps) const;

  int64_t trial_;
  double epoch_length_;
  std::vector<Curve> curves_;
  std::map<std::string, std::map<std::string, size_t>> places_;  // by group and metric
  std::map<double, double> epochs_;                              // that were reported, by steps
};

// Sets the `start` of curves of one trial.
void start_together(std::vector<Curve> &curves);

// Of the metrics that are named: by the name, the last parts of a nested name, the group, or the
// group and one of these; without any the losses. Throws Failure (not found), with what may have
// been meant and what there is, where one of them is missing. `with_epochs` also asks the
// configuration how long an epoch is.
std::vector<Curve> read_curves(Client &client, int64_t trial,
                               const std::vector<std::string> &metrics, bool with_epochs);

}  // namespace det::cli
