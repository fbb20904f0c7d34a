// A trial on a master over HTTP that answers at once: bench_rest SERVER. Starting, what a report
// costs the training thread, reports drained a second, and how fast a signal is seen.
#include <det/core.h>
#include <unistd.h>

#include "core/http/http_client.h"
#include "tests/bench/measure.h"
#include "tests/python_server.h"
#include "tests/temporary_directory.h"

namespace {

using namespace bench;

constexpr size_t calls = 200'000, waiting = 1'000'000;
constexpr int64_t budget_median = 200, budget_drained = 20'000, budget_signal_ms = 50,
                  budget_start_ms = 20;

det_error err = DET_ERROR_INIT;

// What set-up leaves in the container of a cluster.
void be_a_trial_of(const std::string &url, const det::TemporaryDirectory &home) {
  const auto write = [&](const char *name, const std::string &text) {
    det::write_file_durably(home / name, text);
  };
  write(
      "cluster.json",
      R"({"cluster_id":"c","agent_id":"a","slot_ids":[0],"task_id":"1.t","allocation_id":"1.t.1",)"
      R"("session_token":"token","task_type":"TRIAL","master_url":")" +
          url + R"("})");
  write("trial.json",
        R"({"trial_id":7,"experiment_id":1,"trial_seed":1,"trial_run_id":1,"steps_completed":0,)"
        R"("hparams":{},"config":{"checkpoint_storage":{"type":"shared_fs","host_path":")" +
            home.path().string() + R"("}}})");
  write("rendezvous.json",
        R"({"container_addrs":["127.0.0.1"],"container_rank":0,"container_slot_counts":[1]})");
  setenv("DET_INFO_DIR", home.path().c_str(), 1);
  setenv("DET_HOME", home.path().c_str(), 1);
}

det_core *start() {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.tensorboard_mode = DET_TENSORBOARD_MODE_MANUAL;
  det_core *core;
  check(det_core_init(&options, &core, &err), err);
  return core;
}

void end(det_core *core) {
  check(det_core_close(core, DET_OUTCOME_OK, &err), err);
  det_core_free(core);
}

void report(det_core *core, size_t step) {
  const det_metric metrics[] = {{"loss", 0.6931471805599453},
                                {"accuracy", 0.5128},
                                {"learning_rate", 0.001},
                                {"gradient_norm", 2.000123}};
  check(det_train_report_training_metrics(det_core_train(core), static_cast<int64_t>(step), metrics,
                                          4, &err),
        err);
}

// Reports a second from now until the master has all.
double drain(det_core *core, size_t count) {
  const int64_t begin = now_ns();
  check(det_train_flush(det_core_train(core), -1, &err), err);
  return static_cast<double>(count) * 1e9 / static_cast<double>(now_ns() - begin);
}

double signal_ms(const std::string &url) {
  det_core *core = start();
  det::http::HttpClient client({}, std::make_shared<det::Logger>());
  sleep(1);  // until the long poll is there
  const int64_t begin = now_ns();
  client.perform({.method = "POST", .url = url + "/preempt"});
  while (det_preempt_should_preempt(det_core_preempt(core), &err) != DET_PREEMPTED) {
  }
  const auto took = static_cast<double>(now_ns() - begin) / 1e6;
  end(core);
  return took;
}

}  // namespace

int main(int, char **argv) {
  const det::TemporaryDirectory home;
  const det::ServerProcess server({argv[1]});
  const std::string url = "http://127.0.0.1:" + std::to_string(server.ports().front());
  be_a_trial_of(url, home);

  std::printf("starting, to a master on loopback that answers at once\n");
  std::vector<int64_t> starts;
  for (int i = 0; i < 50; ++i) {
    const int64_t begin = now_ns();
    det_core *core = start();
    starts.push_back(now_ns() - begin);
    end(core);
  }
  std::printf("  median %.2f ms (budget: %lld)\n",
              static_cast<double>(distribution(starts).median) / 1e6,
              static_cast<long long>(budget_start_ms));

  std::printf("a report of 4 values, in ns                       median       p99         max\n");
  det_core *core = start();
  size_t step = 0;
  print("every 20 us, the master answers",
        measure(calls, 20'000, [&](size_t) { report(core, ++step); }));
  drain(core, 0);
  server.pause();
  print("the master hangs", measure(waiting, 0, [&](size_t) { report(core, ++step); }));
  print("and 1,000,000 wait", measure(calls, 0, [&](size_t) { report(core, ++step); }));
  std::printf("  budget: median %lld\n", static_cast<long long>(budget_median));
  server.resume();
  const double rate = drain(core, waiting + calls);
  std::printf("reports drained: %.0f/s, %.2f x the budget of %lld\n", rate,
              rate / static_cast<double>(budget_drained), static_cast<long long>(budget_drained));
  end(core);

  std::printf("a signal is seen after %.2f ms (budget: %lld)\n", signal_ms(url),
              static_cast<long long>(budget_signal_ms));
  return 0;
}
