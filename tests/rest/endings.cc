// A program that ends in the way its argument says, without closing its core.
#include <det/core.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

int main(int, char **argv) {
  det_error err = DET_ERROR_INIT;
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.name = "endings";
  options.close_at_end = options.capture_output = 1;
  static det_core *core;
  if (det_core_init(&options, &core, &err) != DET_OK) {
    std::fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  const det_metric metric = {"loss", 0.5};
  det_train_report_training_metrics(det_core_train(core), 1, &metric, 1, &err);
  std::printf("WARNING: a whole line\nthe rest");
  std::fflush(stdout);

  const std::string how = argv[1];
  if (how == "exit 0") std::exit(0);
  if (how == "exit 3") std::exit(3);
  if (how == "throw") throw std::runtime_error("nobody catches this");
  if (how == "_exit") _exit(0);
  if (how == "close") return static_cast<int>(det_core_close(core, DET_OUTCOME_INVALID_HP, &err));
  raise(std::stoi(how));  // a signal
  return 0;
}
