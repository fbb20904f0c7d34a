// An experiment in a store of its own, with a supervisor that can be killed and replaced.
#pragma once

#include <memory>
#include <utility>

#include "core/engine/engine.h"
#include "core/engine/supervision/transitions.h"
#include "core/launcher/supervisor.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/launcher/simulated_trials.h"
#include "tests/temporary_directory.h"

namespace det::test {

template <class Action>
void expect_refusal(Action action, Code code, const std::string &part) {
  const std::string message = expect_error(code, action);
  if (!contains(message, part))
    fail_msg("the message names no '%s': %s", part.c_str(), message.c_str());
}

inline Json searcher(const std::string &name, Json more = Json::object()) {
  Json searcher{{"name", name}, {"metric", "loss"}, {"smaller_is_better", true}};
  searcher.update(more);
  return searcher;
}

inline Json configuration(const Json &searcher, Json more = Json::object()) {
  Json config{{"name", "simulated"},
              {"searcher", searcher},
              {"hyperparameters",
               {{"x", {{"type", "double"}, {"minval", 0.0}, {"maxval", 1.0}}},
                {"n", {{"type", "int"}, {"minval", 1}, {"maxval", 100}}}}},
              {"reproducibility", {{"experiment_seed", 7}}},
              {"resources", {{"slots_per_trial", 1}}},
              {"max_restarts", 2}};
  config.update(more);
  return config;
}

inline Json single() { return configuration(searcher("single", {{"max_length", 10}})); }
inline Json random_of(int64_t trials, int64_t at_once = 2) {
  return configuration(searcher(
      "random", {{"max_trials", trials}, {"max_concurrent_trials", at_once}, {"max_length", 10}}));
}

class Experiment {
 public:
  explicit Experiment(const Json &config, int slots = 4, bool by_metrics = false)
      : Experiment(config, std::make_shared<TemporaryDirectory>(), slots, by_metrics) {}
  // The one that is in `home` already, if there is one.
  Experiment(const Json &config, std::shared_ptr<const TemporaryDirectory> home, int slots = 4,
             bool by_metrics = false)
      : home_(std::move(home)),
        store_(engine::open_store(store_directory(), true, {})),
        engine_(store_directory()),
        slots_(slots) {
    id_ = count("SELECT coalesce(max(id), 0) FROM experiments");
    if (id_ != 0) return;
    engine::LaunchPlan plan{{"./train"}, "/", std::nullopt, by_metrics, std::nullopt};
    engine::Transaction transaction(store_);
    id_ = engine::create_experiment(store_, config, "text", plan);
    transaction.commit();
  }

  // By the trial's own x, which the search has drawn: the same in every run of the experiment.
  double x_of(int64_t trial_id) {
    engine::Query trial = store_.query("SELECT hparams FROM trials WHERE id=?", trial_id);
    trial.next();
    return parse_json(trial.view(0), "hparams").at("x").get<double>();
  }
  void behave(const std::function<void(Behaviour &)> &change = {}) {
    Behaviour behaviour;
    behaviour.metric = [this](int64_t id, uint64_t length) {
      return x_of(id) / static_cast<double>(length + 1);
    };
    if (change) change(behaviour);
    trials_ = std::make_unique<SimulatedTrials>(store_, slots_, behaviour);
  }

  launcher::Supervisor &supervise() {
    if (!trials_) behave();
    kill_supervisor();
    launcher::Supervisor::Options options;
    options.store_directory = store_directory();
    options.experiment_id = id_;
    options.log =
        std::make_shared<Logger>(LogLevel::debug, [this](LogLevel level, const std::string &line) {
          if (level == LogLevel::error) complaints_.push_back(line);
          if (on_log_) on_log_(line);
        });
    options.now = [this] { return launcher::Supervisor::Clock::time_point() + passed_; };
    supervisor_ = std::make_unique<launcher::Supervisor>(options, *trials_);
    return *supervisor_;
  }

  // One thing happens and is taken care of. False: nothing is left to happen.
  bool advance() {
    supervisor_->step();
    trials_->hear();
    supervisor_->step();
    const bool happened = trials_->advance();
    supervisor_->step();
    trials_->hear();
    supervisor_->step();
    return happened;
  }
  void run_to_end() {
    if (!supervisor_) supervise();
    if (supervisor_->experiment().state == engine::state::paused)
      supervisor_->change_state(engine::state::active);
    while (!supervisor_->ended() && advance()) {
    }
    for (int settle = 0; settle < 3; ++settle) supervisor_->step();
  }

  void pass(std::chrono::seconds time) { passed_ += time; }
  void on_log(std::function<void(const std::string &)> hear) { on_log_ = std::move(hear); }
  launcher::Supervisor &supervisor() { return *supervisor_; }
  void kill_supervisor() {
    supervisor_.reset();
    trials_->lose_prepared();
  }
  SimulatedTrials &trials() { return *trials_; }
  engine::Database &store() { return store_; }
  engine::Engine &engine() { return engine_; }
  const std::vector<std::string> &complaints() const { return complaints_; }
  int64_t id() const { return id_; }
  std::filesystem::path store_directory() const { return *home_ / "store"; }

  std::string state() {
    engine::Query row = store_.query("SELECT state FROM experiments WHERE id=?", id_);
    row.next();
    return row.text(0);
  }
  std::string state_of(int64_t trial_id) {
    engine::Query row = store_.query("SELECT state FROM trials WHERE id=?", trial_id);
    return row.next() ? row.text(0) : "";
  }
  int64_t count(const std::string &sql) {
    engine::Query row = store_.query(sql);
    row.next();
    return row.integer(0);
  }
  // What the search did: each trial with its hyperparameters and the lengths it was handed.
  Json outcome() {
    Json found = Json::array();
    engine::Query rows = store_.query(
        "SELECT request_id, hparams, seed, trials.state,"
        " (SELECT group_concat(length) FROM operations WHERE trial_id=trials.id) FROM trials"
        " ORDER BY request_id");
    while (rows.next())
      found.push_back({rows.text(0), rows.text(1), rows.integer(2), rows.text(3),
                       rows.is_null(4) ? "" : rows.text(4)});
    return found;
  }

 private:
  const std::shared_ptr<const TemporaryDirectory> home_;
  engine::Database store_;
  engine::Engine engine_;
  const int slots_;
  int64_t id_ = 0;
  std::unique_ptr<SimulatedTrials> trials_;
  std::chrono::seconds passed_{0};
  std::vector<std::string> complaints_;
  std::function<void(const std::string &)> on_log_;
  std::unique_ptr<launcher::Supervisor> supervisor_;
};

// What a person does to it, and how it stands once its supervisor has seen to that.
inline std::string do_to(Experiment &experiment, engine::Action action,
                         engine::Target target = engine::Target::experiment, int64_t id = 0) {
  experiment.engine().control().act(
      target, target == engine::Target::experiment ? experiment.id() : id, action);
  experiment.supervisor().step();
  experiment.supervisor().step();
  return experiment.state();
}

}  // namespace det::test
