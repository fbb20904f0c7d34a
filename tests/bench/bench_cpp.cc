// What the headers of C++ add to the calls of C that a training makes at every step. Both take
// turns in one run, so that what else the machine does hits them alike.
#include <det/core.hpp>

#include <cstdint>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/row.h"
#include "tests/temporary_directory.h"

namespace {

using namespace bench;

constexpr int turns = 400, calls_a_turn = 1000;
constexpr double goal = 1.02;

double seconds_a_call(std::vector<int64_t> &times) {
  return static_cast<double>(distribution(times).median) / 1e9 / calls_a_turn;
}

template <class Call>
int64_t time_turn(Call &call) {
  const int64_t begin = now_ns();
  for (int i = 0; i < calls_a_turn; ++i) call();
  return now_ns() - begin;
}

template <class InC, class InCpp, class Between>
void compare(const char *name, InC in_c, InCpp in_cpp, Between between) {
  std::vector<int64_t> c, cpp;
  for (int i = 0; i < turns; ++i) {
    // Whoever comes second finds warm caches.
    if (i % 2 == 0) c.push_back(time_turn(in_c));
    cpp.push_back(time_turn(in_cpp));
    if (i % 2 == 1) c.push_back(time_turn(in_c));
    between();
  }
  bench_row(name, seconds_a_call(cpp), "the call in C", seconds_a_call(c), "s", goal);
}

}  // namespace

int main() {
  const det::TemporaryDirectory home;
  det::CoreOptions options;
  options.master = home.path().string();
  options.hparams = R"({"momentum": 0.9, "rate": 0.5})";
  const det::Core core = det::Core::init(options);
  const det::Train train = core.train();
  const det::Preempt preempt = core.preempt();
  const det::Info info = core.info();
  const det::Hparams hparams = info.hparams();

  det_error err = DET_ERROR_INIT;
  int64_t step = 0;
  double sum = 0;
  compare(
      "C++: a report of 4 values",
      [&] {
        const auto x = static_cast<double>(++step);
        const det_metric values[] = {
            {"loss", 1 / x}, {"accuracy", 0.5 + x}, {"learning_rate", 1e-3}, {"norm", 2 + x}};
        check(det_train_report_training_metrics(train.capi(), step, values, 4, &err), err);
      },
      [&] {
        const auto x = static_cast<double>(++step);
        train.report_training_metrics(
            step,
            {{"loss", 1 / x}, {"accuracy", 0.5 + x}, {"learning_rate", 1e-3}, {"norm", 2 + x}});
      },
      [&] { train.flush(); });
  const auto nothing = [] {};
  compare(
      "C++: should_preempt",
      [&] {
        const det_status status = det_preempt_should_preempt(preempt.capi(), &err);
        check(status, err);
        sum += status == DET_PREEMPTED;
      },
      [&] { sum += preempt.should_preempt(); }, nothing);
  compare(
      "C++: trial id", [&] { sum += static_cast<double>(det_info_trial_id(info.capi())); },
      [&] { sum += static_cast<double>(info.trial_id()); }, nothing);
  compare(
      "C++: a hyperparameter", [&] { sum += det_info_hparam_double(info.capi(), "rate", 0); },
      [&] { sum += hparams.get<double>("rate", 0); }, nothing);
  core.close();
  return sum > 0 ? 0 : 1;
}
