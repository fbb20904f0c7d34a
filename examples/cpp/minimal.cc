// A training loop that resumes from its latest checkpoint, however it was stopped.
//
//     c++ -std=c++17 minimal.cc $(pkg-config --cflags --libs detcore-cpp) -o minimal
//     ./minimal
#include <chrono>
#include <det/core.hpp>
#include <det/tensors.hpp>
#include <iostream>
#include <thread>

int main() try {
  det::CoreOptions options;
  options.external_id = "minimal-c++";  // every start with this name continues the same trial
  const det::Core core = det::Core::init(options);

  double weight = 0;
  const std::vector<det::Buffer> state = {det::Buffer::of("weight", weight)};
  int64_t step = det::load_state(core.checkpoint(), state);
  std::cout << "from step " << step << std::endl;

  for (bool stop = false; step < 1000 && !stop;) {
    weight -= 0.02 * (weight - 3);                              // your training goes here,
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // and takes longer
    core.train().report_training_metrics(++step, {{"loss", (weight - 3) * (weight - 3)}});
    stop = core.preempt().should_preempt();
    if (stop || step % 100 == 0) det::save_state(core.checkpoint(), step, state);
  }
  core.close();
  std::cout << "weight " << weight << " at step " << step << std::endl;
  return core.exit_status();  // 0, or 75 if it was asked to stop before the end
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
