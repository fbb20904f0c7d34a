// Adds reports to a training loop that runs outside any cluster, so that a master shows it.
//
//     c++ -std=c++17 detached.cc $(pkg-config --cflags --libs detcore-cpp) -o detached
//     det login http://HOST:8080
//     DET_MASTER=http://HOST:8080 ./detached
//
// The lines with a bar are the additions to the bare loop. After a crash, the next start is the
// next run of the same trial.
#include <det/core.hpp>  // |
#include <iostream>

int main() {
  det::CoreOptions options;                              // |
  options.external_id = "detached-example";              // | the name of the trial
  options.close_at_end = options.capture_output = true;  // |
  static const det::Core *core =
      new det::Core(det::Core::init(options));  // | until the process ends

  double weight = 0;
  for (int step = 1; step <= 100; ++step) {
    weight -= 0.1 * 2 * (weight - 3);
    const double loss = (weight - 3) * (weight - 3);
    if (step % 10 == 0) std::cout << "step " << step << ", loss " << loss << '\n';
    core->train().report_training_metrics(step, {{"loss", loss}});  // |
  }
  std::cout << "weight " << weight << std::endl;
}
