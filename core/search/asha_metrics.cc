// Successive halving where metrics steer the search: trials train on their own, and each report
// says how far they are and how good. One that is not among the best share of a rung it reached is
// stopped.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/search/asha.h"

namespace det::search {

namespace {

class AshaMetrics : public Asha {
 public:
  using Asha::Asha;

  void validated(TrialIndex index, const Json &metrics, Decisions &decisions) override {
    Trial &at = trial(index);
    // A trial that was stopped trains on for a while.
    if (at.closed) return;
    const double time = time_of(index, metrics);
    const double metric = signed_metric(index, find(metrics, settings_.metric));
    for (; time >= static_cast<double>(rung_of(at).length); ++at.rung) {
      Ranking &ranking = rung_of(at).ranking;
      const size_t place = ranking.insert_before_equals({metric, index});
      if (is_top(at) || place >= std::max<size_t>(share_of(ranking.size()), 1)) {
        close(index, decisions);
        if (may_start_trial()) start_trial(decisions);
        return;
      }
    }
  }

  void exited_early(TrialIndex index, ExitReason reason, Decisions &decisions) override {
    Trial &at = trial(index);
    if (at.closed) return;
    if (reason == ExitReason::invalid_hp) return replace(index, decisions);
    at.exited = true;
    at.closed = true;
    at.working = false;
    rung_of(at).ranking.insert_before_equals({worst_metric, index});
    if (may_start_trial()) start_trial(decisions);
  }

  void closed(TrialIndex index, Decisions & /*decisions*/) override {
    trial(index).closed = true;
    ++completed_;
  }

 private:
  static const Json &find(const Json &metrics, const std::string &name) {
    static const Json none;
    const auto found = metrics.find(name);
    return found == metrics.end() ? none : *found;
  }

  double time_of(TrialIndex index, const Json &metrics) const {
    const Json &time = find(metrics, settings_.time_metric);
    if (time.is_number() && !std::isnan(time.get<double>())) return time.get<double>();
    throw Error(Code::invalid, "telling a search of a validation: trial " +
                                   table_.request_id(index) + " has " + to_wire(time) +
                                   " for the time metric '" + settings_.time_metric +
                                   "'; report a number");
  }
};

}  // namespace

std::unique_ptr<Method> make_asha_metrics(const SearchSettings &settings, const Bracket &bracket,
                                          TrialTable &trials) {
  return std::make_unique<AshaMetrics>(settings, SearchRules::metrics, bracket, trials);
}

}  // namespace det::search
