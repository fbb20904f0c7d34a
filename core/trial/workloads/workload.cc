#include "core/trial/workloads/workload.h"

#include "core/base/error.h"

namespace det::trial {

namespace {

[[noreturn]] void refuse_response(const std::string &problem) {
  throw Error(Code::invalid, "responding to a workload: " + problem);
}

const Json &object_in(const Json &parent, const char *key) {
  const auto found = parent.find(key);
  if (found == parent.end() || !found->is_object())
    refuse_response(std::string("there is no object '") + key + "' in the response");
  return *found;
}

void check_validation(const Json &metrics, const std::string &searched) {
  std::string names;
  for (const auto &[name, value] : metrics.items()) {
    if (value.is_null()) refuse_response("the validation metric '" + name + "' has no value");
    names.append(names.empty() ? "" : ", ").append(name);
  }
  const auto found = metrics.find(searched);
  if (found == metrics.end())
    refuse_response("the searcher's metric '" + searched +
                    "' is not among the validation metrics (" + names + ")");
  if (!found->is_number())
    refuse_response("the searcher's metric '" + searched + "' is " + to_wire(*found) +
                    "; it must be one number");
}

}  // namespace

Response read_response(Workload::Kind kind, const Json &response,
                       const std::string &searcher_metric) {
  if (!response.is_object()) refuse_response("the response is no object");
  Response read;
  if (const auto stop = response.find("stop_requested"); stop != response.end()) {
    if (!stop->is_boolean()) refuse_response("stop_requested must be true or false");
    read.stop_requested = stop->get<bool>();
  }
  if (kind == Workload::Kind::checkpoint) return read;
  const Json &metrics = object_in(response, "metrics");
  if (kind == Workload::Kind::validate) {
    read.metrics = object_in(metrics, "validation_metrics");
    check_validation(read.metrics, searcher_metric);
    return read;
  }
  read.metrics = object_in(metrics, "avg_metrics");
  if (const auto batches = metrics.find("batch_metrics"); batches != metrics.end())
    read.batches = *batches;
  return read;
}

}  // namespace det::trial
