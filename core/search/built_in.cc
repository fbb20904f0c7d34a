#include "core/search/built_in.h"

#include <cmath>
#include <utility>

#include "core/base/error.h"

namespace det::search {

namespace {

std::unique_ptr<Method> make_method(const SearchSettings &settings, SearchRules rules,
                                    TrialTable &trials) {
  switch (settings.method) {
    case SearchSettings::Method::grid:
      return make_grid(settings, rules, trials);
    case SearchSettings::Method::asha:
    case SearchSettings::Method::adaptive_asha:
      return make_asha(settings, rules, trials);
    default:
      return make_random(settings, rules, trials);
  }
}

}  // namespace

BuiltInSearch::BuiltInSearch(const SearchSettings &settings, SearchRules rules,
                             HyperparameterGroup space, uint32_t seed)
    : rules_(rules),
      trials_(std::move(space), seed),
      book_(rules),
      method_(make_method(settings, rules, trials_)) {}

TrialIndex BuiltInSearch::known(const std::string &request_id) const {
  const auto trial = trials_.find(request_id);
  if (!trial)
    throw Error(Code::invalid, "telling a search of the trial '" + request_id +
                                   "': it made no such trial; take the id that came with it");
  return *trial;
}

template <class Ask>
Decisions BuiltInSearch::decide(Ask ask) {
  Decisions decisions;
  const size_t before = trials_.size();
  ask(decisions);
  book_.requested(trials_.size() - before);
  return decisions;
}

Decisions BuiltInSearch::initial() {
  return decide([this](Decisions &decisions) { method_->initial(decisions); });
}

Decisions BuiltInSearch::created(const std::string &request_id) {
  // A snapshot does not name the trials that were decided on and not created.
  const TrialIndex trial = trials_.add(request_id);
  book_.created(trial);
  method_->created(trial);
  return {};
}

Decisions BuiltInSearch::validation_completed(const std::string &request_id, uint64_t length,
                                              const Json &metric) {
  if (rules_ == SearchRules::metrics) return {};
  const TrialIndex trial = known(request_id);
  book_.check_completion(trials_, trial, length);
  Decisions decisions =
      decide([&](Decisions &made) { method_->validation_completed(trial, metric, made); });
  book_.completed(trial, length);
  return decisions;
}

Decisions BuiltInSearch::validated(const std::string &request_id, const Json &metrics) {
  if (rules_ == SearchRules::operations) return {};
  const TrialIndex trial = known(request_id);
  return decide([&](Decisions &decisions) { method_->validated(trial, metrics, decisions); });
}

Decisions BuiltInSearch::exited_early(const std::string &request_id, ExitReason reason) {
  const TrialIndex trial = known(request_id);
  if (!book_.exited_early(trial, reason)) return {};
  Decisions decisions =
      decide([&](Decisions &made) { method_->exited_early(trial, reason, made); });
  if (const auto shutdown = book_.shutdown(false)) decisions.emplace_back(*shutdown);
  return decisions;
}

Decisions BuiltInSearch::closed(const std::string &request_id) {
  const TrialIndex trial = known(request_id);
  book_.closed(trial);
  Decisions decisions = decide([&](Decisions &made) { method_->closed(trial, made); });
  if (const auto shutdown = book_.shutdown(true)) decisions.emplace_back(*shutdown);
  return decisions;
}

void BuiltInSearch::trial_progress(const std::string &request_id, double progress) {
  book_.progress(known(request_id), progress);
}

double BuiltInSearch::progress() const {
  const double progress = method_->progress(book_.totals());
  return std::isfinite(progress) ? progress : 0;
}

Json BuiltInSearch::snapshot() const {
  Json state = book_.snapshot(trials_);
  state["rand"] = trials_.random().snapshot();
  state["search_method_state"] = method_->snapshot();
  return state;
}

void BuiltInSearch::restore(const Json &state) {
  reading_snapshot([&] {
    book_.restore(state, trials_);
    trials_.random().restore(state.at("rand"));
    method_->restore(state.at("search_method_state"));
  });
}

}  // namespace det::search
