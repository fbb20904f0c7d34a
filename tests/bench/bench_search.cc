// What one event costs a search, in memory: behind 100,000 trials against its first ones. An event
// is told, decided and followed by a question for the progress.
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "core/search/search.h"
#include "tests/bench/measure.h"
#include "tests/bench/row.h"

namespace {

using det::Json;

constexpr uint64_t most_trials = 101'000;
constexpr uint64_t concurrent = 16;

// Trials that take turns: each does its next operation at once, and leaves when it is closed.
class Experiment {
 public:
  Experiment(const Json &config, det::search::SearchRules rules)
      : rules_(rules), search_(det::search::make_search(config, rules)) {
    obey(search_->initial());
  }

  // Until so many trials are created; gives the seconds for one event, the median of turns.
  double run_to(uint64_t trials) {
    constexpr int a_turn = 100;
    std::vector<double> times;
    while (created_ < trials && !ready_.empty()) {
      uint64_t events = 0;
      const int64_t start = bench::now_ns();
      for (int i = 0; i < a_turn && !ready_.empty(); ++i) events += turn();
      times.push_back(static_cast<double>(bench::now_ns() - start) / 1e9 /
                      static_cast<double>(events));
    }
    return bench::median(times);
  }

 private:
  struct Work {
    std::string trial;
    uint64_t length = 0;  // 0: closed, stopped or created
    bool leaves = false;
  };

  uint64_t turn() {
    const Work work = std::move(ready_.front());
    ready_.pop_front();
    progress_ = search_->progress();
    if (work.leaves) {
      obey(search_->closed(work.trial));
      return 1;
    }
    if (work.length == 0) {
      obey(search_->created(work.trial));
      if (rules_ == det::search::SearchRules::metrics) ready_.push_back({work.trial, 10});
      return 1;
    }
    noise_ = noise_ * 6364136223846793005U + 1442695040888963407U;
    const double metric = static_cast<double>(noise_ >> 11U);
    search_->trial_progress(work.trial, rules_ == det::search::SearchRules::metrics
                                            ? static_cast<double>(work.length) / 810
                                            : static_cast<double>(work.length));
    if (rules_ == det::search::SearchRules::operations) {
      obey(search_->validation_completed(work.trial, work.length, metric));
      return 2;
    }
    const auto decisions =
        search_->validated(work.trial, {{"loss", metric}, {"batches", work.length}});
    const bool done = !decisions.empty() || work.length >= 810;
    obey(decisions);
    if (done) ready_.push_back({work.trial, 0, true});
    else ready_.push_back({work.trial, work.length * 3});
    return 2;
  }

  void obey(const det::search::Decisions &decisions) {
    for (const det::search::Decision &decision : decisions) {
      if (const auto *create = std::get_if<det::search::CreateTrial>(&decision)) {
        ++created_;
        ready_.push_back({create->request_id});
      } else if (const auto *validate = std::get_if<det::search::ValidateAfter>(&decision)) {
        ready_.push_back({validate->request_id, validate->length});
      } else if (const auto *close = std::get_if<det::search::CloseTrial>(&decision)) {
        ready_.push_back({close->request_id, 0, true});
      }
    }
  }

  const det::search::SearchRules rules_;
  std::unique_ptr<det::search::Search> search_;
  std::deque<Work> ready_;
  uint64_t created_ = 0;
  uint64_t noise_ = 1;
  double progress_ = 0;
};

Json config(Json searcher) {
  Json hyperparameters{{"lr", {{"type", "log"}, {"minval", -4}, {"maxval", -1}, {"base", 10}}},
                       {"units", {{"type", "int"}, {"minval", 16}, {"maxval", 64}}}};
  if (searcher.at("name") == "grid") {
    hyperparameters["lr"]["count"] = 4000;
    hyperparameters["units"]["count"] = 49;
  }
  searcher.update({{"metric", "loss"},
                   {"max_trials", most_trials},
                   {"max_concurrent_trials", concurrent},
                   {"max_length", {{"batches", 810}}}});
  return {{"searcher", std::move(searcher)}, {"hyperparameters", std::move(hyperparameters)}};
}

void measure(const char *name, const Json &searcher,
             det::search::SearchRules rules = det::search::SearchRules::operations) {
  Experiment experiment(config(searcher), rules);
  const double first = experiment.run_to(1'000);
  experiment.run_to(100'000);
  const double last = experiment.run_to(101'000);
  const std::string row = std::string("event of a search in memory, ") + name;
  bench_row(row.c_str(), last, "the first 1,000 trials", first, "s", 2);
}

}  // namespace

int main() {
  const Json asha{{"name", "async_halving"}, {"num_rungs", 5}, {"divisor", 3}};
  Json stopping = asha;
  stopping["stop_once"] = true;
  measure("random", {{"name", "random"}});
  measure("grid", {{"name", "grid"}});
  measure("asha", asha);
  measure("asha, stopping", stopping);
  measure("adaptive_asha", {{"name", "adaptive_asha"}, {"divisor", 3}});
  measure("asha of 0.38", asha, det::search::SearchRules::metrics);
  measure("adaptive_asha of 0.38", {{"name", "adaptive_asha"}, {"divisor", 3}},
          det::search::SearchRules::metrics);
}
