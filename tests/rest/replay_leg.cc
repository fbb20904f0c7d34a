// Plays one leg of a recorded trial as one of its ranks, as any program would: through the public
// API alone. replay_leg SCRIPT LEG RANK DIRECTORY; what there is to call is in recording/calls.py.
// Status 99: something went otherwise than it was recorded; standard error says what.
#include <det/core.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace {

using det::Json;
namespace fs = std::filesystem;

constexpr int64_t long_enough_ms = 30'000;

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error(what); }

// Python's own spelling of what JSON has no numbers for.
std::string with_bare_numbers(const Json &metrics) {
  std::string text = metrics.dump();
  for (const char *name : {"NaN", "Infinity"})
    for (const std::string quoted = '"' + std::string(name) + '"'; text.find(quoted) != text.npos;)
      text.replace(text.find(quoted), quoted.size(), name);
  return text;
}

class Leg {
 public:
  Leg(Json leg, bool counts_units, bool managed, int rank, fs::path directory)
      : leg_(std::move(leg)),
        counts_units_(counts_units),
        managed_(managed),
        rank_(rank),
        directory_(std::move(directory)) {
    std::ifstream lines(directory_ / "uuids");
    for (std::string recorded, own; lines >> recorded >> own;) uuids_[recorded] = own;
  }

  int play() {
    start();
    resume();
    for (const Json &call : leg_["calls"]) {
      call_ = call;
      const std::string name = call[0];
      if (name == "exit") return end(call[1]);
      if (name == "killed") be_killed();
      if (rank_ == 0 || is_of_all_ranks(name)) perform(call);
    }
    fail("the script has no end");
  }

  const Json &call() const { return call_; }

 private:
  static bool is_of_all_ranks(const std::string &name) {
    return name == "operation" || name == "checkpoint" || name == "should_preempt";
  }

  void expect(det_status status, det_status expected) {
    if (status == expected) return;
    fail(std::string("it gave ") + det_status_name(status) + " (" + error_.message +
         ") instead of " + det_status_name(expected));
  }
  void must(det_status status) { expect(status, DET_OK); }

  void join() {
    const int ranks = leg_["ranks"];
    if (ranks == 1) return;
    const int nodes = static_cast<int>(leg_["resources_ids"].size());
    det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
    options.rank = rank_;
    options.size = ranks;
    options.local_size = ranks / nodes;
    options.local_rank = rank_ % options.local_size;
    options.cross_rank = rank_ / options.local_size;
    options.cross_size = nodes;
    options.chief_ip = "127.0.0.1";
    options.timeout_ms = static_cast<int32_t>(long_enough_ms);
    must(det_distributed_create(&options, &distributed_, &error_));
  }

  void start() {
    join();
    det_core_options options = DET_CORE_OPTIONS_INIT;
    options.distributed = distributed_;
    const std::string config = leg_["config"].dump(), hparams = leg_["hparams"].dump();
    std::string storage;
    if (!managed_) {
      options.config_json = config.c_str();
      options.hparams_json = hparams.c_str();
      if (!leg_["config"].contains("checkpoint_storage")) {
        storage = leg_["checkpoint_storage"]["host_path"];
        options.checkpoint_storage = storage.c_str();
      }
    }
    must(det_core_init(&options, &core_, &error_));
    const det_info *info = det_core_info(core_);
    if (det_info_trial_id(info) != leg_["trial_id"] ||
        det_info_trial_run_id(info) != leg_["run_id"] ||
        det_info_experiment_id(info) != leg_["experiment_id"] ||
        det_info_steps_completed(info) != leg_["steps_completed"] ||
        Json::parse(det_info_hparams_json(info)) != leg_["hparams"])
      fail(std::string("it is told otherwise who it is: ") + det_info_json(info));
  }

  // Where the checkpoint to go on from was stored by a leg before, it can be read.
  void resume() {
    const char *latest = det_info_latest_checkpoint(det_core_info(core_));
    if ((latest != nullptr) != leg_["latest_checkpoint"].is_string())
      fail("it is told of another latest checkpoint");
    if (latest == nullptr || uuids_.count(leg_["latest_checkpoint"]) == 0) return;
    det_checkpoint_restore *restore = nullptr;
    must(det_checkpoint_restore_begin(det_core_checkpoint(core_), latest, nullptr, &restore,
                                      &error_));
    det_checkpoint_restore_free(restore);
  }

  int end(int status) {
    must(det_core_close(core_, status == 0 ? DET_EXIT_OK : DET_EXIT_ERROR, &error_));
    det_core_free(core_);
    det_distributed_free(distributed_);
    return status;
  }

  [[noreturn]] void be_killed() {
    flush();
    raise(SIGKILL);
    abort();
  }

  void flush() { must(det_train_flush(train(), long_enough_ms, &error_)); }

  void perform(const Json &call) {
    static const std::map<std::string, void (Leg::*)(const Json &)> players{
        {"report", &Leg::report},
        {"progress", &Leg::progress},
        {"status", &Leg::set_status},
        {"log", &Leg::log},
        {"profile", &Leg::profile},
        {"operation", &Leg::next_operation},
        {"complete", &Leg::complete},
        {"checkpoint", &Leg::save},
        {"checkpoint_metadata", &Leg::check_metadata},
        {"delete_checkpoint", &Leg::remove},
        {"best_validation", &Leg::check_best_validation},
        {"early_exit", &Leg::exit_early},
        {"should_preempt", &Leg::wait_for_signal},
        {"acknowledge", &Leg::acknowledge_nothing},
        {"set_metadata", &Leg::leave_out},
        {"get_metadata", &Leg::leave_out},
        {"fails", &Leg::be_refused},
    };
    (this->*players.at(call[0]))(call);
  }

  void report(const Json &call) {
    const std::string group = call[1];
    const int64_t steps = call[2];
    const Json &values = call[3];
    std::vector<det_metric> metrics;
    for (const auto &[name, value] : values.items())
      if (value.is_number()) metrics.push_back({name.c_str(), value.get<double>()});
    if (metrics.size() < values.size() || call.size() > 4) {
      const std::string batches = call.size() > 4 ? with_bare_numbers(call[4]) : "";
      return must(det_train_report_metrics_json(
          train(), group.c_str(), steps, with_bare_numbers(values).c_str(),
          batches.empty() ? nullptr : batches.c_str(), &error_));
    }
    if (group == "training")
      must(det_train_report_training_metrics(train(), steps, metrics.data(), metrics.size(),
                                             &error_));
    else if (group == "validation")
      must(det_train_report_validation_metrics(train(), steps, metrics.data(), metrics.size(),
                                               &error_));
    else
      must(det_train_report_metrics(train(), group.c_str(), steps, metrics.data(), metrics.size(),
                                    &error_));
  }

  // It took the recorded trial a while to the next one, which would overtake this one here.
  void progress(const Json &call) {
    if (counts_units_) must(det_searcher_op_report_progress(operation_, call[1], &error_));
    else must(det_train_report_progress(train(), call[1], &error_));
    flush();
  }

  void set_status(const Json &call) {
    must(det_train_set_status(train(), call[1].get<std::string>().c_str(), &error_));
    flush();
  }

  void log(const Json &) { must(det_train_log(train(), DET_LOG_INFO, "a line", &error_)); }

  void profile(const Json &) {
    expect(det_profiler_on(det_core_profiler(core_), 1, 1, &error_), DET_E_UNSUPPORTED);
  }

  void next_operation(const Json &call) {
    const bool is_last = call[1].is_null();
    expect(det_searcher_next(det_core_searcher(core_), &operation_, &error_),
           is_last ? DET_DONE : DET_OK);
    if (!is_last && det_searcher_op_length(operation_) != call[1])
      fail("its length is " + std::to_string(det_searcher_op_length(operation_)));
  }

  void complete(const Json &call) {
    must(det_searcher_op_report_completed(operation_, call[2], &error_));
  }

  // Each rank brings the files that have its number in their names; the first one, those without.
  bool brings(const std::string &path) const {
    const size_t digit = path.find_first_of("0123456789");
    return (digit == path.npos ? 0 : path[digit] - '0') == rank_;
  }

  bool write_files(const fs::path &directory, const Json &files) const {
    bool any = false;
    for (const auto &[path, size] : files.items()) {
      if (!brings(path)) continue;
      any = true;
      if (path.back() == '/') fs::create_directories(directory / path);
      else fs::create_directories((directory / path).parent_path());
      if (path.back() != '/') std::ofstream(directory / path) << std::string(size, 'x');
    }
    return any;
  }

  // By both of the ways there are, in turn.
  void save(const Json &call) {
    const std::string recorded = call[1]["uuid"], metadata = call[1]["metadata"].dump();
    det_checkpoint_options options = DET_CHECKPOINT_OPTIONS_INIT;
    options.shard = distributed_ != nullptr;
    std::string id(DET_STORAGE_ID_SIZE - 1, ' ');
    if (saved_++ % 2 == 0) {
      const fs::path files = directory_ / ("files-" + std::to_string(getpid()));
      const bool any = write_files(files, call[1]["files"]);
      must(det_checkpoint_upload(det_core_checkpoint(core_), any ? files.c_str() : nullptr,
                                 metadata.c_str(), &options, id.data(), &error_));
      fs::remove_all(files);
    } else {
      det_checkpoint_store *store = nullptr;
      must(det_checkpoint_store_begin(det_core_checkpoint(core_), metadata.c_str(), &options,
                                      &store, &error_));
      write_files(det_checkpoint_store_path(store), call[1]["files"]);
      id = det_checkpoint_store_id(store);
      must(det_checkpoint_store_commit(store, &error_));
      det_checkpoint_store_free(store);
    }
    uuids_[recorded] = id;
    if (rank_ == 0)
      std::ofstream(directory_ / "uuids", std::ios::app) << recorded << ' ' << id << '\n';
  }

  std::string own_uuid(const std::string &recorded) const {
    const auto found = uuids_.find(recorded);
    return found == uuids_.end() ? recorded : found->second;
  }

  void check_metadata(const Json &call) {
    char *text = nullptr;
    const det_status status = det_checkpoint_get_metadata(
        det_core_checkpoint(core_), own_uuid(call[1]).c_str(), &text, &error_);
    if (call[2].is_null()) return expect(status, DET_E_NOT_FOUND);
    must(status);
    const nlohmann::json found = nlohmann::json::parse(text);  // in any order
    det_free(text);
    if (found != nlohmann::json::parse(call[2].dump())) fail("it is " + found.dump());
  }

  void remove(const Json &call) {
    must(det_checkpoint_delete(det_core_checkpoint(core_), own_uuid(call[1]).c_str(), &error_));
  }

  void check_best_validation(const Json &call) {
    double best = 0;
    const det_status status = det_train_get_experiment_best_validation(train(), &best, &error_);
    if (call[1].is_null()) return expect(status, DET_E_NOT_FOUND);
    must(status);
    if (best != call[1]) fail("it is " + std::to_string(best));
  }

  void exit_early(const Json &call) {
    if (call[1] != "EXITED_REASON_INVALID_HP") fail("there is no such reason here");
    must(det_train_report_early_exit(train(), DET_EXIT_REASON_INVALID_HP, &error_));
  }

  // As a training loop does, that asks before each step; SIGALRM ends what never comes.
  void wait_for_signal(const Json &) {
    for (;;) {
      const det_status status = det_preempt_should_preempt(det_core_preempt(core_), &error_);
      if (status == DET_PREEMPT) return;
      must(status);
      usleep(1000);
    }
  }

  void acknowledge_nothing(const Json &) {
    expect(det_preempt_acknowledge(det_core_preempt(core_), &error_), DET_E_STATE);
  }

  void leave_out(const Json &) {}

  // Reports are refused later; an operation of an unmanaged trial is not asked of the master.
  void be_refused(const Json &call) {
    const Json &refused = call[2];
    if (refused[0] == "operation") return next_operation(Json::array({"operation", 10}));
    perform(refused);
    expect(det_train_flush(train(), long_enough_ms, &error_), DET_E_CONFLICT);
  }

  det_train *train() { return det_core_train(core_); }

  const Json leg_;
  const bool counts_units_;  // progress is told in units of the operation
  const bool managed_;
  const int rank_;
  const fs::path directory_;
  std::map<std::string, std::string> uuids_;  // recorded → own
  Json call_ = "starting";
  int saved_ = 0;
  det_error error_ = DET_ERROR_INIT;
  det_distributed *distributed_ = nullptr;
  det_core *core_ = nullptr;
  det_searcher_op *operation_ = nullptr;
};

}  // namespace

int main(int count, char **arguments) {
  if (count != 5) return 2;
  alarm(60);
  std::ifstream file(arguments[1]);
  const Json script = Json::parse(file);
  const bool managed = script["managed"];
  const size_t index = std::stoul(arguments[2]);
  const int rank = std::stoi(arguments[3]);
  Leg leg(script["legs"][index], managed && script["version"] != "0.38.1", managed, rank,
          arguments[4]);
  try {
    return leg.play();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "leg %zu, rank %d, %s: %s\n", index, rank, leg.call().dump().c_str(),
                 error.what());
    _exit(99);
  }
}
