// Drives workload sequencers over a Core API that is a script: a case a line on standard input, a
// list of what happened a line on standard output. See test_sequencer.py.
#include <iostream>
#include <map>
#include <string>

#include "core/base/error.h"
#include "core/trial/workloads/sequencer.h"

namespace {

using namespace det;
using namespace det::trial;

class ScriptedCore : public CoreCalls {
 public:
  ScriptedCore(const Json &script, Json &events) : script_(script), events_(events) {}

  void warn(const std::string &) override { note("warn"); }
  std::optional<int64_t> last_validation() override { return number("last_validation"); }
  std::optional<int64_t> next_operation() override {
    const Json &all = script_.at("operations");
    if (operations_ == all.size()) {
      events_.push_back({"operation", nullptr});
      return std::nullopt;
    }
    events_.push_back({"operation", all[operations_]});
    return all[operations_++].get<int64_t>();
  }
  void set_status(std::string_view status) override { note("set_status", status); }
  void report_training(int64_t steps, const Json &metrics,
                       const std::optional<Json> &batches) override {
    events_.push_back({"report_training_metrics", steps, metrics, batches ? *batches : Json()});
  }
  void report_progress(double length) override { note("report_progress", length); }
  void report_completed(const Json &metric) override { note("report_completed", metric); }
  void report_validation(int64_t steps, const Json &metrics) override {
    events_.push_back({"report_validation_metrics", steps, metrics});
  }
  void report_invalid_hparams() override { note("report_early_exit"); }
  std::optional<double> best_validation() override {
    note("get_experiment_best_validation");
    const Json bests = script_.value("bests", Json::array());
    const size_t i = bests_++;
    return i < bests.size() && !bests[i].is_null() ? std::optional(bests[i].get<double>())
                                                   : std::nullopt;
  }
  bool should_preempt() override {
    note("should_preempt");
    const std::optional<int64_t> at = number("preempt_poll");
    return at && ++polls_ >= *at;
  }

 private:
  void note(const char *call) { events_.push_back(Json::array({call})); }
  template <class Argument>
  void note(const char *call, const Argument &argument) {
    events_.push_back({call, argument});
  }
  std::optional<int64_t> number(const char *key) const {
    const Json value = script_.value(key, Json());
    return value.is_null() ? std::nullopt : std::optional(value.get<int64_t>());
  }

  const Json &script_;
  Json &events_;
  size_t operations_ = 0;
  size_t bests_ = 0;
  int64_t polls_ = 0;
};

// The answers to workloads of one kind, in turn, then the last one again.
const Json &answer(const Json &script, Workload::Kind kind, std::map<Workload::Kind, size_t> &nth) {
  const std::string name(1, "?TVC"[static_cast<int>(kind)]);
  const Json &all = script.at("answers").at(name);
  const size_t i = nth[kind]++;
  return all.at(std::min(i, all.size() - 1));
}

void run(const Json &script, Json &events) {
  ScriptedCore core(script, events);
  Sequencer sequencer(read_sequencer_config(script.at("config"), script.at("global_batch_size")),
                      script.value("trial_id", 1), core);
  if (script.contains("state")) sequencer.load_state(script.at("state"));
  std::map<Workload::Kind, size_t> nth;
  while (const auto workload = sequencer.next()) {
    events.push_back({"workload", std::string(1, "?TVC"[static_cast<int>(workload->kind)]),
                      workload->step_id, workload->batches, workload->batches_done});
    if (workload->kind == Workload::Kind::checkpoint)
      events.push_back({"state", sequencer.state()});
    const Json &response = answer(script, workload->kind, nth);
    if (response == "invalid hparams") sequencer.respond_invalid_hparams();
    else sequencer.respond(response);
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    Json events = Json::array();
    try {
      run(parse_json(line, "a case"), events);
    } catch (const Error &error) {
      events.push_back({"error", static_cast<int>(error.code), error.what()});
    }
    std::cout << to_wire(events) << "\n";
  }
}
