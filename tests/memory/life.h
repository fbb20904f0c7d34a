// The life of a trial as its program lives it, call by call, and what of it must be with its master
// afterwards.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/memory/sweep.h"

namespace det::test {

class Life {
 public:
  Life(Sweep &sweep, std::filesystem::path directory)
      : sweep_(sweep), directory_(std::move(directory)) {}

  void begin(const det_core_options &options) {
    sweep_.start();
    queue_ = sweep_.made<det_log_queue>("log_queue_create", det_log_queue_create);
    core_ = sweep_.made<det_core>("init", [&](det_core **out, det_error *error) {
      det_core_options given = options;
      given.log_queue = queue_;
      return det_core_init(&given, out, error);
    });
    trial_ = det_info_trial_id(det_core_info(core_));
  }

  void report() {
    det_train_context *train = det_core_train(core_);
    const det_metric metric{"loss", 0.5};
    report_one("report_training", [&](int64_t steps, det_error *error) {
      return det_train_report_training_metrics(train, steps, &metric, 1, error);
    });
    report_one("report_validation", [&](int64_t steps, det_error *error) {
      return det_train_report_validation_metrics(train, steps, &metric, 1, error);
    });
    report_one("report_metrics", [&](int64_t steps, det_error *error) {
      return det_train_report_metrics(train, "a group of its own", steps, &metric, 1, error);
    });
    report_one("report_json", [&](int64_t steps, det_error *error) {
      return det_train_report_metrics_json(train, "training", steps, R"({"loss": [0.5, NaN]})",
                                           R"([{"loss": 1}, {"loss": 2}])", error);
    });
    sweep_.call("set_status",
                [&](det_error *error) { return det_train_set_status(train, "trains", error); });
    sweep_.call("report_progress",
                [&](det_error *error) { return det_train_report_progress(train, 0.5, error); });
    sweep_.call("log", [&](det_error *error) {
      return det_train_log(train, DET_LOG_LEVEL_INFO, "a line", error);
    });
    sweep_.call("flush", [&](det_error *error) { return det_train_flush(train, 60'000, error); });
  }

  void keep_metadata() {
    det_train_context *train = det_core_train(core_);
    sweep_.call("set_metadata", [&](det_error *error) {
      return det_train_set_metadata(train, R"({"kept": "a text that is kept"})", error);
    });
    const std::string kept = sweep_.text("get_metadata", [&](char **out, det_error *error) {
      return det_train_get_metadata(train, out, error);
    });
    assert_string_equal(kept.c_str(), R"({"kept":"a text that is kept"})");
  }

  void look_around() {
    const std::string hparam = sweep_.text("hparam_json", [&](char **out, det_error *error) {
      return det_info_get_hparam_json(det_core_info(core_), "optimizer.name", out, error);
    });
    assert_string_equal(hparam.c_str(), R"("one with a long name")");
    double best = 0;
    sweep_.call("best_validation", [&](det_error *error) {
      return det_train_get_experiment_best_validation(det_core_train(core_), &best, error);
    });
    assert_true(best == 0.5);
    sweep_.call("should_preempt", [&](det_error *error) {
      return det_preempt_should_preempt(det_core_preempt(core_), error);
    });
  }

  void keep_events() {
    const std::string path = sweep_.text("tensorboard_path", [&](char **out, det_error *error) {
      return det_train_get_tensorboard_path(det_core_train(core_), out, error);
    });
    std::ofstream(path + "/events") << "events";
    sweep_.call("upload_tensorboard_files", [&](det_error *error) {
      return det_train_upload_tensorboard_files(det_core_train(core_), nullptr, nullptr, nullptr,
                                                error);
    });
  }

  // Two checkpoints, of which the second one is deleted.
  void save() {
    det_checkpoint_context *checkpoints = det_core_checkpoint(core_);
    kept_ = store(checkpoints);
    restore(checkpoints);
    const std::filesystem::path made = directory_ / "made";
    std::filesystem::create_directories(made / "of a directory");
    std::ofstream(made / "of a directory/weights") << "weights";
    char *id = nullptr;
    sweep_.call("upload", [&](det_error *error) {
      return det_checkpoint_upload(checkpoints, made.c_str(), R"({"steps_completed": 2})", nullptr,
                                   &id, error);
    });
    deleted_ = id;
    sweep_.call("delete",
                [&](det_error *error) { return det_checkpoint_delete(checkpoints, id, error); });
    det_free(id);
  }

  void search() {
    det_searcher_context *searcher = det_core_searcher(core_);
    auto *op = sweep_.made<det_searcher_op>("next", [&](det_searcher_op **out, det_error *error) {
      return det_searcher_next(searcher, out, error);
    });
    assert_non_null(op);
    sweep_.call("op_report_progress",
                [&](det_error *error) { return det_searcher_op_report_progress(op, 1, error); });
    sweep_.call("report_completed",
                [&](det_error *error) { return det_searcher_op_report_completed(op, 0.5, error); });
    const det_status last = sweep_.call(
        "next", [&](det_error *error) { return det_searcher_next(searcher, &op, error); });
    assert_int_equal(last, DET_DONE);
  }

  void close() {
    sweep_.call("close",
                [&](det_error *error) { return det_core_close(core_, DET_OUTCOME_OK, error); });
    det_core_free(core_);
    for (;;) {
      det_log_line *line = nullptr;
      const det_status status = sweep_.call("log_queue_take", [&](det_error *error) {
        return det_log_queue_take(queue_, &line, error);
      });
      det_free(line);
      if (status == DET_DONE) break;
    }
    det_log_queue_free(queue_);
  }

  int64_t trial() const { return trial_; }
  const std::vector<int64_t> &reported() const { return reported_; }  // steps, all different
  const std::string &kept() const { return kept_; }
  const std::string &deleted() const { return deleted_; }

 private:
  template <class Report>
  void report_one(const char *what, const Report &report) {
    sweep_.call(what, [&](det_error *error) {
      const det_status status = report(++steps_, error);
      const Spared here;
      if (status == DET_OK) reported_.push_back(steps_);
      return status;
    });
  }

  // One that cannot be committed is given up, and another one begun.
  std::string store(det_checkpoint_context *checkpoints) {
    auto *store = sweep_.made<det_checkpoint_writer>(
        "writer_begin", [&](det_checkpoint_writer **out, det_error *error) {
          return det_checkpoint_writer_begin(checkpoints, R"({"steps_completed": 1})", nullptr, out,
                                             error);
        });
    std::string id = det_checkpoint_writer_id(store);
    std::ofstream(std::filesystem::path(det_checkpoint_writer_path(store)) / "weights")
        << "weights";
    const det_status status = sweep_.attempt("writer_commit", [&](det_error *error) {
      return det_checkpoint_writer_commit(store, error);
    });
    det_checkpoint_writer_free(store);
    if (status == DET_E_NOMEM) sweep_.with_memory([&] { id = this->store(checkpoints); });
    return id;
  }

  void restore(det_checkpoint_context *checkpoints) {
    auto *from = sweep_.made<det_checkpoint_reader>(
        "restore_begin", [&](det_checkpoint_reader **out, det_error *error) {
          return det_checkpoint_reader_open(checkpoints, kept_.c_str(), nullptr, out, error);
        });
    assert_weights(det_checkpoint_reader_path(from));
    det_checkpoint_reader_free(from);
    const std::filesystem::path target = directory_ / "downloaded";
    sweep_.call("download", [&](det_error *error) {
      return det_checkpoint_download(checkpoints, kept_.c_str(), target.c_str(), nullptr, error);
    });
    assert_weights(target);
    sweep_.text("checkpoint_get_metadata", [&](char **out, det_error *error) {
      return det_checkpoint_get_metadata(checkpoints, kept_.c_str(), out, error);
    });
  }

  static void assert_weights(const std::filesystem::path &directory) {
    std::ifstream file(directory / "weights");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    assert_string_equal(text.c_str(), "weights");
  }

  Sweep &sweep_;
  const std::filesystem::path directory_;
  det_log_queue *queue_ = nullptr;
  det_core *core_ = nullptr;
  int64_t trial_ = 0, steps_ = 0;
  std::vector<int64_t> reported_;
  std::string kept_, deleted_;
};

}  // namespace det::test
