// Samplers that say what a test wants them to.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/profiler/averages.h"

namespace det::profiler {

struct Script {
  double value = 1;     // of all samplers
  bool counts = false;  // they read counters
  std::string failing;  // the group that does
  Code code = Code::io;
  std::map<std::string, int> asked;
  std::atomic<int> sampled{0};
  std::vector<std::string> reports, lines;
  std::mutex mutex;  // of `reports`

  // Each of a group, and the name of its only value; with an empty name it has none.
  using Groups = std::vector<std::pair<std::string, std::string>>;

  class Scripted : public Sampler {
   public:
    Scripted(Script &script, std::string group, std::string name)
        : script_(script), group_(std::move(group)), name_(std::move(name)) {}
    std::string_view group() const override { return group_; }
    void sample(Clock::time_point, Batch &batch) override {
      ++script_.sampled;
      if (script_.counts && !batch.wants_rates()) return;
      ++script_.asked[group_];
      if (script_.failing == group_) throw Error(script_.code, "broken");
      if (name_.empty()) return;
      if (script_.counts) batch.add_rate("", name_, script_.value);
      else batch.add("", name_, script_.value);
    }

   private:
    Script &script_;
    const std::string group_, name_;
  };

  std::vector<std::unique_ptr<Sampler>> samplers(const Groups &groups) {
    std::vector<std::unique_ptr<Sampler>> made;
    for (const auto &[group, name] : groups)
      made.push_back(std::make_unique<Scripted>(*this, group, name));
    return made;
  }
  std::shared_ptr<Logger> logger() {
    return std::make_shared<Logger>(
        LogLevel::warning, [this](LogLevel, const std::string &line) { lines.push_back(line); });
  }
  Averages averages(const Groups &groups) { return {samplers(groups), logger()}; }

  Averages::Take taker() {
    return [this](std::string_view group, const Json &averages) {
      const std::lock_guard lock(mutex);
      reports.push_back(std::string(group) + " " + to_wire(averages));
    };
  }
  void take(Averages &averages) { averages.report(taker()); }
  size_t count() {
    const std::lock_guard lock(mutex);
    return reports.size();
  }
};

}  // namespace det::profiler
