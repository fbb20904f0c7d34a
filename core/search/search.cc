#include "core/search/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/search/bookkeeping.h"
#include "core/search/custom.h"
#include "core/search/hyperparameters.h"
#include "core/search/method.h"
#include "core/search/settings.h"

namespace det::search {

namespace {

// A search by one of the methods that come with the library.
class BuiltInSearch : public Search {
 public:
  // Throws Code::invalid.
  BuiltInSearch(const SearchSettings &settings, SearchRules rules, HyperparameterGroup space,
                uint32_t seed);

  Decisions initial() override;
  Decisions created(const std::string &request_id) override;
  Decisions validation_completed(const std::string &request_id, uint64_t length,
                                 const Json &metric) override;
  Decisions validated(const std::string &request_id, const Json &metrics) override;
  Decisions exited_early(const std::string &request_id, ExitReason reason) override;
  Decisions closed(const std::string &request_id) override;
  void trial_progress(const std::string &request_id, double progress) override;
  double progress() const override;
  Json snapshot() const override;
  void restore(const Json &snapshot) override;

 private:
  TrialIndex known(const std::string &request_id) const;
  // What the method decides in `ask`; its new trials are counted.
  template <class Ask>
  Decisions decide(Ask ask);

  const SearchRules rules_;
  TrialTable trials_;
  Bookkeeping book_;
  std::unique_ptr<Method> method_;
};

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

constexpr std::array<std::pair<std::string_view, ExitReason>, 5> exit_reasons{
    {{"ERRORED", ExitReason::errored},
     {"USER_REQUESTED_STOP", ExitReason::user_requested_stop},
     {"USER_CANCELED", ExitReason::user_canceled},
     {"INVALID_HP", ExitReason::invalid_hp},
     {"INIT_INVALID_HP", ExitReason::invalid_hp}}};

uint32_t experiment_seed(const Json &config) {
  const Json section = config.value("reproducibility", Json());
  const Json seed = section.is_object() ? section.value("experiment_seed", Json()) : Json();
  if (seed.is_null()) return 0;
  const double number = seed.is_number() ? seed.get<double>() : -1;
  if (!(number >= 0 && number <= UINT32_MAX) || std::floor(number) != number)
    throw Error(Code::invalid, "reading the configuration: reproducibility.experiment_seed is " +
                                   to_wire(seed) + "; give a whole number from 0 to 2^32 - 1");
  return static_cast<uint32_t>(number);
}

}  // namespace

std::string_view exit_reason_name(ExitReason reason) {
  return std::ranges::find(exit_reasons, reason, [](const auto &entry) { return entry.second; })
      ->first;
}

ExitReason exit_reason_named(std::string_view name) {
  const auto *const found =
      std::ranges::find(exit_reasons, name, [](const auto &entry) { return entry.first; });
  if (found == exit_reasons.end())
    throw Error(Code::invalid, "reading a reason for an early exit: there is no '" +
                                   std::string(name) + "'; take ERRORED, INVALID_HP or the like");
  return found->second;
}

std::unique_ptr<Search> make_search(const Json &config, SearchRules rules) {
  if (!config.is_object())
    throw Error(
        Code::invalid,
        "reading the configuration: expected an object with a searcher, got " + to_wire(config));
  const SearchSettings settings = read_search_settings(config.value("searcher", Json()), rules);
  const uint32_t seed = experiment_seed(config);
  if (settings.method == SearchSettings::Method::custom)
    return std::make_unique<CustomSearch>(seed);
  return std::make_unique<BuiltInSearch>(
      settings, rules, read_hyperparameters(config.value("hyperparameters", Json())), seed);
}

}  // namespace det::search
