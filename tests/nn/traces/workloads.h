// Workloads of a recorded run, and what is answered to them.
#pragma once

#include "events.h"

#include <det/trials/program.hpp>

namespace traces {

class RecordedWorkloads : public det::trials::WorkloadSource {
 public:
  // A phase of a run: {"workloads": [["T", 2], ["V"], ["C"]], "stop_on_request": false}.
  explicit RecordedWorkloads(const Json &phase)
      : all_(phase.at("workloads")), stops_(phase.value("stop_on_request", false)) {}

  std::optional<det::Workload> next() override {
    if (place_ == all_.size() || (stops_ && has_stopped_)) return std::nullopt;
    say(event("workload", all_[place_]));
    const std::string kind = all_[place_][0];
    det::Workload workload;
    if (kind == "T") workload.batches = all_[place_][1];
    else workload.kind = kind == "V" ? det::WorkloadKind::validate : det::WorkloadKind::checkpoint;
    return workload;
  }
  void respond(const Json &response) override {
    has_stopped_ = response.value("stop_requested", false);
    answer(response);
  }
  void refuse() override { answer({{"marker", "InvalidHP"}}); }

 private:
  static Json event(const char *kind, const Json &workload) {
    Json said = {kind};
    said.insert(said.end(), workload.begin(), workload.end());
    return said;
  }
  void answer(const Json &response) { say({"response", all_[place_++][0], response}); }

  const Json all_;
  size_t place_ = 0;
  bool stops_;
  bool has_stopped_ = false;
};

}  // namespace traces
