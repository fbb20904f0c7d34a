// What the engine does, over every store there is: a store is done when this list passes over it.
// A test gets a World, with a store of its own.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/runs/live_run.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace det::test {

// For what logs beside what it throws.
inline Logger &quiet() {
  static Logger logger(LogLevel::error, [](LogLevel, const std::string &) {});
  return logger;
}

struct StoreKind {
  const char *name;
  bool on_network;
};
inline constexpr StoreKind store_kinds[] = {{"SQLite", false}, {"SQLite on a network", true}};

class World {
 public:
  explicit World(const StoreKind &kind) {
    // A loaded machine with a sanitizer is slow.
    options_.busy_timeout = std::chrono::minutes(2);
    options_.on_network = [on = kind.on_network](const std::filesystem::path &) { return on; };
    // Who is not woken waits for longer than a test may take.
    options_.recheck = std::chrono::hours(1);
    engine::Engine(directory(), true, options_);
  }
  // Another store of the same kind, with other options.
  World(const World &like, const std::function<void(engine::StoreOptions &)> &change)
      : options_(like.options_) {
    change(options_);
    engine::Engine(directory(), true, options_);
  }

  std::filesystem::path directory() const { return home_ / ".detcore"; }
  const engine::StoreOptions &options() const { return options_; }
  engine::Engine engine() const { return engine::Engine(directory(), false, options_); }

  engine::RunRequest request() const {
    engine::RunRequest request;
    request.store_directory = directory();
    request.name = "digits";
    request.command = "./digits --fast";
    request.config = {{"searcher", {{"name", "single"}, {"metric", "loss"}, {"max_length", 10}}}};
    request.options = options_;
    return request;
  }
  std::unique_ptr<engine::LiveRun> start() const { return engine::start_live_run(request()); }
  std::unique_ptr<engine::LiveRun> resume(int64_t trial_id) const {
    engine::RunRequest asked = request();
    asked.trial_id = trial_id;
    return engine::start_live_run(asked);
  }

 private:
  TemporaryDirectory home_;
  engine::StoreOptions options_;
};

inline Report validation(uint64_t sequence, int64_t steps, double loss) {
  Report report;
  report.sequence = sequence;
  report.group = "validation";
  report.steps = steps;
  report.values = {{"loss", loss}};
  return report;
}

inline void deliver(engine::LiveRun &run, const std::vector<Report> &reports) {
  run.deliver({run.info().trial_id, run.info().run_id, 0, run.journal_id()}, reports);
}

inline engine::CheckpointReport checkpoint(const std::string &id, int64_t steps) {
  return {id,
          {{"steps_completed", steps}},
          {{"model", 100}},
          {{"type", "shared_fs"}, {"host_path", "/nowhere"}}};
}

inline std::string state_of_trial(engine::Engine &engine, int64_t trial_id) {
  return engine.trials().get(trial_id).at("state").get<std::string>();
}

using BehaviourTest = void (*)(const World &);
struct Behaviour {
  const char *name;
  BehaviourTest test;
};

// Each of them over each store.
inline int run_over_stores(const char *area, const std::vector<Behaviour> &behaviours) {
  struct Case {
    BehaviourTest test;
    const StoreKind *kind;
  };
  static constexpr auto run_case = [](void **state) {
    const Case &one = *static_cast<const Case *>(*state);
    const World world(*one.kind);
    one.test(world);
  };
  std::deque<std::string> names;
  std::deque<Case> cases;
  std::vector<CMUnitTest> tests;
  for (const StoreKind &kind : store_kinds)
    for (const Behaviour &behaviour : behaviours) {
      names.push_back(std::string(behaviour.name) + " (" + kind.name + ")");
      cases.push_back({behaviour.test, &kind});
      tests.push_back({names.back().c_str(), run_case, nullptr, nullptr, &cases.back()});
    }
  return _cmocka_run_group_tests(area, tests.data(), tests.size(), nullptr, nullptr);
}

}  // namespace det::test

#define behaviour(name) \
  det::test::Behaviour { #name, name }
