// A training program in C++, on the C interface, with metrics, checkpoints and preemption.
//
// If you kill or pause it (`det pause`), the next start resumes from its latest checkpoint. The
// result is the same as without the interruption.
//
//     c++ -std=c++17 train.cc $(pkg-config --cflags --libs detcore) -o train
//     ./train
#include <det/core.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

constexpr int steps_between_checkpoints = 20;

const char *const config = R"({
  "name": "languages",
  "hyperparameters": {"rate": 0.0078125},
  "searcher": {"name": "single", "metric": "loss", "max_length": 2000}
})";

// Calls a function that returns a status. Throws the message of a failure.
template <typename Function, typename... Arguments>
det_status call(Function function, Arguments... arguments) {
  det_error error = DET_ERROR_INIT;
  const det_status status = function(arguments..., &error);
  if (status < 0) throw std::runtime_error(error.message);
  return status;
}

template <auto release>
struct Release {
  template <typename Handle>
  void operator()(Handle *handle) const {
    release(handle);
  }
};
using Core = std::unique_ptr<det_core, Release<det_core_free>>;
using Writer = std::unique_ptr<det_checkpoint_writer, Release<det_checkpoint_writer_free>>;
using Reader = std::unique_ptr<det_checkpoint_reader, Release<det_checkpoint_reader_free>>;

struct State {
  int64_t step = 0;
  double weight = 0;
};

void save(det_checkpoint_context *checkpoint, const State &state) {
  const std::string metadata = R"({"steps_completed": )" + std::to_string(state.step) + "}";
  det_checkpoint_writer *handle = nullptr;
  call(det_checkpoint_writer_begin, checkpoint, metadata.c_str(), nullptr, &handle);
  const Writer store(handle);
  std::ofstream file(det_checkpoint_writer_path(handle) + std::string("/state"));
  file.precision(std::numeric_limits<double>::max_digits10);
  file << state.step << ' ' << state.weight << '\n';
  file.close();
  if (!file) throw std::runtime_error("the state could not be written");
  call(det_checkpoint_writer_commit, handle);  // now it is complete and visible
}

State restore(det_checkpoint_context *checkpoint, const char *id) {
  det_checkpoint_reader *handle = nullptr;
  call(det_checkpoint_reader_open, checkpoint, id, nullptr, &handle);
  const Reader stored(handle);
  State state;
  std::ifstream file(det_checkpoint_reader_path(handle) + std::string("/state"));
  if (!(file >> state.step >> state.weight)) throw std::runtime_error("no state in it");
  return state;
}

int run() {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.external_id = "train-c++";  // every start with this name continues the same trial
  options.config_json = config;
  det_core *handle = nullptr;
  call(det_core_init, &options, &handle);
  const Core core(handle);
  det_info *info = det_core_info(handle);
  det_train_context *train = det_core_train(handle);

  double rate = 0;
  call(det_info_get_hparam_double, info, "rate", &rate);
  State state;
  if (const char *latest = det_info_latest_checkpoint(info))
    state = restore(det_core_checkpoint(handle), latest);
  std::cout << "from " << state.step << std::endl;

  bool preempted = false;
  det_searcher_op *op = nullptr;
  while (call(det_searcher_next, det_core_searcher(handle), &op) == DET_OK) {
    const int64_t length = det_searcher_op_length(op);
    while (state.step < length && !preempted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // your training goes here
      state.weight += rate * (1 - state.weight);
      state.step++;
      const det_metric loss = {"loss", 1 - state.weight};
      call(det_train_report_training_metrics, train, state.step, &loss, 1);
      preempted = call(det_preempt_should_preempt, det_core_preempt(handle)) == DET_PREEMPTED;
      if (preempted || state.step == length || state.step % steps_between_checkpoints == 0)
        save(det_core_checkpoint(handle), state);
    }
    if (preempted) break;
    const det_metric loss = {"loss", 1 - state.weight};  // your validation
    call(det_train_report_validation_metrics, train, state.step, &loss, 1);
    call(det_searcher_op_report_completed, op, loss.value);
  }

  call(det_core_close, handle, DET_OUTCOME_OK);  // if skipped, freeing the core closes it as failed
  std::cout << "to " << state.step << '\n';
  return det_core_exit_status(handle);  // not 0 if more work remains
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception &error) {
    std::cerr << "train: " << error.what() << '\n';
    return 1;
  }
}
