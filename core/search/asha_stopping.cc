// Successive halving by stopping: a trial that is not among the best share of the results of its
// rung so far ends at once, and nobody waits.
#include <algorithm>
#include <utility>

#include "core/search/asha.h"

namespace det::search {

namespace {

class AshaStopping : public Asha {
 public:
  using Asha::Asha;

  void validation_completed(TrialIndex index, const Json &metric, Decisions &decisions) override {
    const double value = signed_metric(index, metric);
    if (std::exchange(trial(index).working, false)) step(index, value, decisions);
  }

  void exited_early(TrialIndex index, ExitReason reason, Decisions &decisions) override {
    Trial &at = trial(index);
    if (at.closed) return;
    if (reason == ExitReason::invalid_hp) return replace(index, decisions);
    at.exited = true;
    at.closed = true;
    at.working = false;
    step(index, worst_metric, decisions);
  }

  void closed(TrialIndex index, Decisions &decisions) override {
    // A trial that is gone without a word frees its place as well.
    if (!trial(index).closed) exited_early(index, ExitReason::user_requested_stop, decisions);
    ++completed_;
  }

 private:
  void step(TrialIndex index, double metric, Decisions &decisions) {
    Trial &at = trial(index);
    Rung &rung = rung_of(at);
    --rung.outstanding;
    bool works = false;
    if (is_top(at)) {
      rung.ranking.append({metric, index});
      if (!at.closed) close(index, decisions);
    } else {
      const size_t keep = std::max<size_t>(share_of(rung.ranking.size() + 1), 1);
      const size_t place = rung.ranking.insert_before_equals({metric, index});
      const bool promoted = place < keep;
      rung.ranking.at(place).promoted = promoted;
      if (!at.closed && promoted) {
        ++at.rung;
        ++rung_of(at).outstanding;
        validate_after(index, decisions);
        works = true;
      } else if (!at.closed) {
        close(index, decisions);
      }
    }
    if (!works && may_start_trial()) start_trial(decisions);
  }
};

}  // namespace

std::unique_ptr<Method> make_asha_stopping(const SearchSettings &settings, const Bracket &bracket,
                                           TrialTable &trials) {
  return std::make_unique<AshaStopping>(settings, SearchRules::operations, bracket, trials);
}

}  // namespace det::search
