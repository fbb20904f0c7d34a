// Whole experiments in virtual time: trials that train at their own speeds, fail and are killed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/search/driver.h"

namespace det::search {

// How trials behave.
struct World {
  using Trial = size_t;

  std::function<double(Trial, uint64_t)> metric;                   // after so much training
  std::function<double(Trial)> speed = [](Trial) { return 1.0; };  // time for one unit
  // How a trial leaves in its n-th operation (from 0) instead of completing it; by a closed()
  // alone where `silent`. Where metrics steer the search: in place of its n-th report.
  std::function<std::optional<ExitReason>(Trial, size_t)> failure = [](Trial, size_t) {
    return std::nullopt;
  };
  std::function<bool(Trial)> silent = [](Trial) { return false; };
  // Whether a trial is killed while it waits with nothing to do.
  std::function<bool(Trial)> killed_waiting = [](Trial) { return false; };
  // Where metrics steer the search: how far a report is from the one before, and the last one.
  uint64_t period = 0;
  uint64_t train_until = 0;
};

// What a search was told, and what it said.
struct Told {
  enum class Kind { initial, created, done, report, exit, closed, units } kind;
  size_t trial = 0;
  uint64_t length = 0;
  double value = 0;
  ExitReason reason = ExitReason::errored;
  std::string answer = {};
};

inline std::string tell(Driver &driver, const Told &told) {
  switch (told.kind) {
    case Told::Kind::initial:
      return driver.initial();
    case Told::Kind::created:
      return driver.created(told.trial);
    case Told::Kind::done:
      return driver.done(told.trial, told.length, told.value);
    case Told::Kind::report:
      return driver.report(told.trial, {{"batches", told.length}, {"loss", told.value}});
    case Told::Kind::exit:
      return driver.exit(told.trial, told.reason);
    case Told::Kind::closed:
      return driver.closed(told.trial);
    default:
      driver.units(told.trial, told.value);
      return "";
  }
}

class Simulation {
 public:
  Simulation(const Json &config, World world, SearchRules rules = SearchRules::operations)
      : driver_(config, rules), world_(std::move(world)), rules_(rules) {}

  // Until nothing happens any more.
  void run() {
    progress_.push_back(driver_.progress());
    tell_search({Told::Kind::initial});
    while (!events_.empty()) {
      const auto [time, sequence, trial] = events_.top();
      events_.pop();
      now_ = time;
      step(trial);
    }
  }

  Driver &driver() { return driver_; }
  const std::vector<Told> &record() const { return record_; }
  const std::vector<double> &progress() const { return progress_; }
  const std::string &ended() const { return ended_; }  // the shutdown, if there was one
  const std::vector<std::string> &faults() const { return faults_; }  // what may not happen
  size_t invalid() const { return invalid_; }

  // The lengths that a trial was handed, in order.
  const std::vector<uint64_t> &lengths(size_t trial) const { return trials_.at(trial).lengths; }
  // All trials that are not gone.
  size_t left() const {
    size_t left = 0;
    for (const auto &[number, trial] : trials_) left += trial.gone ? 0 : 1;
    return left;
  }

 private:
  struct Trial {
    std::vector<uint64_t> lengths;
    size_t completed = 0;  // of these
    uint64_t trained = 0;
    bool announced = false;  // created() is told
    bool scheduled = false;
    bool closing = false;
    bool gone = false;
  };

  void schedule(size_t number, double delay) {
    trials_[number].scheduled = true;
    events_.emplace(now_ + delay, sequence_++, number);
  }

  // The next thing that a trial does. An operation is scheduled for the time of its end.
  void step(size_t number) {
    Trial &trial = trials_[number];
    trial.scheduled = false;
    if (trial.gone) return;
    if (!trial.announced) {
      trial.announced = true;
      tell_search({Told::Kind::created, number});
    } else if (rules_ == SearchRules::metrics) {
      report(number, trial);
    } else if (trial.completed < trial.lengths.size()) {
      complete(number, trial);
    } else if (trial.closing) {
      leave(number, trial);
    } else if (world_.killed_waiting(number)) {
      exit(number, trial, ExitReason::user_canceled);
    }
    if (!trial.gone) continue_trial(number, trial);
  }

  void continue_trial(size_t number, const Trial &trial) {
    if (trial.scheduled || !trial.announced) return;
    if (rules_ == SearchRules::metrics)
      return schedule(number, static_cast<double>(world_.period) * world_.speed(number));
    if (trial.completed < trial.lengths.size())
      return schedule(number, static_cast<double>(trial.lengths[trial.completed] - trial.trained) *
                                  world_.speed(number));
    if (trial.closing || world_.killed_waiting(number)) schedule(number, 0.5);
  }

  void complete(size_t number, Trial &trial) {
    if (const auto reason = world_.failure(number, trial.completed))
      return exit(number, trial, *reason);
    const uint64_t length = trial.lengths[trial.completed++];
    trial.trained = length;
    tell_search({Told::Kind::units, number, 0, static_cast<double>(length)});
    tell_search({Told::Kind::done, number, length, world_.metric(number, length)});
  }

  void report(size_t number, Trial &trial) {
    if (trial.closing || trial.trained >= world_.train_until) return leave(number, trial);
    if (const auto reason = world_.failure(number, trial.completed++))
      return exit(number, trial, *reason);
    trial.trained += world_.period;
    tell_search({Told::Kind::units, number, 0,
                 static_cast<double>(trial.trained) / static_cast<double>(world_.train_until)});
    tell_search({Told::Kind::report, number, trial.trained, world_.metric(number, trial.trained)});
  }

  void exit(size_t number, Trial &trial, ExitReason reason) {
    // Gone before the search hears of it, so that it can hand it nothing.
    trial.gone = true;
    if (reason == ExitReason::invalid_hp) ++invalid_;
    if (!world_.silent(number)) tell_search({Told::Kind::exit, number, 0, 0, reason});
    tell_search({Told::Kind::closed, number});
  }

  void leave(size_t number, Trial &trial) {
    trial.gone = true;
    tell_search({Told::Kind::closed, number});
  }

  void tell_search(Told told) {
    told.answer = tell(driver_, told);
    record_.push_back(told);
    progress_.push_back(driver_.progress());
    std::istringstream words(told.answer);
    for (std::string word; words >> word;) obey(word, told.answer);
  }

  void obey(const std::string &word, const std::string &answer) {
    if (!ended_.empty() && word != "failure" && word != "cancel")
      faults_.push_back("a decision after the shutdown: " + answer);
    if (word == "end" || word == "failure" || word == "cancel") {
      ended_ += (ended_.empty() ? "" : " ") + word;
      return;
    }
    const size_t number = std::stoul(word.substr(1));
    Trial &trial = trials_[number];
    if (word[0] == 'C') {
      schedule(number, 0);
      return;
    }
    if (trial.gone && word[0] == 'V') faults_.push_back("work for a trial that is gone: " + word);
    if (word[0] == 'V') {
      const uint64_t length = std::stoull(word.substr(word.find(':') + 1));
      if (!trial.lengths.empty() && trial.lengths.back() >= length)
        faults_.push_back("not longer than before: " + word);
      if (trial.completed < trial.lengths.size()) faults_.push_back("two at once: " + word);
      trial.lengths.push_back(length);
    } else {
      if (trial.closing) faults_.push_back("closed twice: " + word);
      trial.closing = true;
    }
    if (!trial.gone) continue_trial(number, trial);
  }

  using Event = std::tuple<double, uint64_t, size_t>;  // time, order among equals, trial

  Driver driver_;
  const World world_;
  const SearchRules rules_;
  std::map<size_t, Trial> trials_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  double now_ = 0;
  uint64_t sequence_ = 0;
  size_t invalid_ = 0;
  std::vector<Told> record_;
  std::vector<double> progress_;
  std::string ended_;
  std::vector<std::string> faults_;
};

}  // namespace det::search
