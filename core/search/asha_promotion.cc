// Successive halving by promotion: a trial waits in its rung until it is among the best share of
// the results there.
#include <optional>
#include <utility>

#include "core/search/asha.h"

namespace det::search {

namespace {

class AshaPromotion : public Asha {
 public:
  using Asha::Asha;

  void validation_completed(TrialIndex index, const Json &metric, Decisions &decisions) override {
    const double value = signed_metric(index, metric);
    if (std::exchange(trial(index).working, false)) step(index, value, decisions);
  }

  void exited_early(TrialIndex index, ExitReason reason, Decisions &decisions) override {
    Trial &at = trial(index);
    if (at.closed) return;
    if (reason == ExitReason::invalid_hp && at.working) {
      --rung_of(at).outstanding;
      return replace(index, decisions);
    }
    const bool was_working = at.working;
    at.exited = true;
    at.closed = true;
    at.working = false;
    // A trial that only waits has its result, and frees no place: if it is promoted, step() knows.
    if (was_working) step(index, worst_metric, decisions);
  }

  void closed(TrialIndex index, Decisions &decisions) override {
    // A trial that is gone without a word would be waited for without end.
    if (!trial(index).closed) exited_early(index, ExitReason::user_requested_stop, decisions);
    ++completed_;
  }

 private:
  // One result yields one new piece of work while there is any.
  void step(TrialIndex index, double metric, Decisions &decisions) {
    bool works = false;
    std::optional<TrialIndex> next = index;
    while (next) {
      Trial &at = trial(*next);
      --rung_of(at).outstanding;
      rung_of(at).settled = false;
      std::optional<TrialIndex> promoted;
      if (is_top(at)) {
        rung_of(at).ranking.append({metric, *next});
        if (!at.closed) close(*next, decisions);
      } else {
        promoted = rank(*next, metric);
      }
      next.reset();
      if (!promoted) break;
      Trial &climber = trial(*promoted);
      ++climber.rung;
      ++rung_of(climber).outstanding;
      if (climber.closed) {
        // Gone: as if it had run, with the worst result.
        next = promoted;
        metric = worst_metric;
      } else {
        validate_after(*promoted, decisions);
        works = true;
      }
    }
    if (!works && may_start_trial()) start_trial(decisions);
    if (rungs_.front().ranking.size() >= bracket_.max_trials) close_out(decisions);
  }

  // Adds a result to the trial's rung. Gives the trial that is promoted by it.
  std::optional<TrialIndex> rank(TrialIndex index, double metric) {
    Ranking &ranking = rung_of(trial(index)).ranking;
    const size_t before = share_of(ranking.size());
    const size_t now = share_of(ranking.size() + 1);
    const size_t place = ranking.insert_after_equals({metric, index});
    Ranking::Entry *candidate = nullptr;
    if (place < now) candidate = &ranking.at(place);
    else if (now != before) candidate = &ranking.at(before);
    if (candidate == nullptr || candidate->promoted) return std::nullopt;
    candidate->promoted = true;
    return candidate->trial;
  }

  // No more trials come: ends those that wait where nothing can promote them any more.
  void close_out(Decisions &decisions) {
    for (Rung &rung : rungs_) {
      if (rung.outstanding > 0) return;
      if (std::exchange(rung.settled, true)) continue;
      rung.ranking.each([&](const Ranking::Entry &entry) {
        if (!entry.promoted && !trial(entry.trial).closed) close(entry.trial, decisions);
      });
    }
  }
};

}  // namespace

std::unique_ptr<Method> make_asha_promotion(const SearchSettings &settings, const Bracket &bracket,
                                            TrialTable &trials) {
  return std::make_unique<AshaPromotion>(settings, SearchRules::operations, bracket, trials);
}

}  // namespace det::search
