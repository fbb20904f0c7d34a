// Samples of the machine, averaged by group until they are reported.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/profiler/sampler.h"

namespace det::profiler {

// What the samplers of one group have said. A value that some of the samples lack counts as 0 in
// them, as masters and their users know it.
class GroupAverages : public Batch {
 public:
  explicit GroupAverages(std::string_view group) : group_(group) {}

  void add(std::string_view label, std::string_view name, double value) override;
  bool wants_rates() const override { return rates_of_ > 0; }
  void add_rate(std::string_view label, std::string_view name, double value) override {
    add(label, name, value * rates_of_);
  }

  // `rates_of`: the samples that its rates stand for, itself included; 0: it has none.
  void begin_sample(int rates_of = 1) {
    ++samples_;
    rates_of_ = rates_of;
    next_ = 0;
  }
  void forget() {
    sums_.clear();
    samples_ = 0;
  }

  const std::string &group() const { return group_; }
  bool empty() const { return sums_.empty(); }

  // {name: average, label: {name: average}}
  Json averages() const;

 private:
  struct Sum {
    std::string label, name;
    double sum;
  };
  std::string group_;
  std::vector<Sum> sums_;
  size_t next_ = 0;  // where the next value is expected: samples are alike
  int samples_ = 0;
  int rates_of_ = 1;
};

class Averages {
 public:
  // The groups are reported in the order of their first samplers.
  Averages(std::vector<std::unique_ptr<Sampler>> samplers, std::shared_ptr<Logger> logger);

  // Asks all of them. What one fails with is told once and costs the others nothing. Counters are
  // read once a second, and in the sample that is the `last` of its report.
  void sample(Clock::time_point now, bool last = true);

  // What was sampled up to now counts for nothing, but as that from which rates go.
  void forget();

  bool empty() const { return samples_ == 0; }
  // Whether counters were not read in the latest samples.
  bool lacks_rates() const { return without_rates_ > 0; }

  // Hands out each group that has values, and begins anew.
  using Take = std::function<void(std::string_view group, const Json &averages)>;
  void report(const Take &take);

 private:
  struct Source {
    std::unique_ptr<Sampler> sampler;
    size_t group;
    bool told = false;  // of a failure
  };

  const std::shared_ptr<Logger> logger_;
  std::vector<Source> sources_;
  std::vector<GroupAverages> groups_;
  int samples_ = 0;
  int without_rates_ = 0;  // of them, the latest
  std::optional<Clock::time_point> read_rates_;
};

}  // namespace det::profiler
