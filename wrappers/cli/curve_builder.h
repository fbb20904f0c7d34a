// The curves of a trial, report by report.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "curve.h"
#include "report_parser.h"

namespace det::cli {

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

}  // namespace det::cli
