// A training that goes on where it was left, however that happened.
//
//     c++ -std=c++17 minimal.cc $(pkg-config --cflags --libs detcore-cpp) -o minimal
//     ./minimal
#include <chrono>
#include <det/core.hpp>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <thread>

void save(const det::Core &core, int64_t step, double weight) {
  const det::CheckpointWriter store =
      core.checkpoint().write("{\"steps_completed\": " + std::to_string(step) + "}");
  std::ofstream file(store.path() / "model");
  file.exceptions(std::ios::failbit | std::ios::badbit);
  file.precision(std::numeric_limits<double>::max_digits10);
  file << weight;
  file.close();
  store.commit();
}

double restore(const det::Core &core, const char *checkpoint) {
  const det::CheckpointReader stored = core.checkpoint().read(checkpoint);
  std::ifstream file(stored.path() / "model");
  file.exceptions(std::ios::failbit | std::ios::badbit);
  double weight;
  file >> weight;
  return weight;
}

// Returns whether it came to the end, and was not asked to stop before.
bool train(const det::Core &core, int64_t &step, double &weight) {
  const double rate = core.info().hparams().get<double>("rate", 0.01);
  for (const det::Operation operation : core.searcher().operations()) {
    while (step < operation.length()) {
      weight -= rate * 2 * (weight - 3);  // your training goes here
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      core.train().report_training_metrics(++step, {{"loss", (weight - 3) * (weight - 3)}});
      const bool stop = core.preempt().should_preempt();
      if (stop || step % 100 == 0) save(core, step, weight);
      if (stop) return false;
    }
    operation.report_completed((weight - 3) * (weight - 3));
  }
  return true;
}

int main() try {
  det::CoreOptions options;
  options.config = R"({"searcher": {"name": "single", "max_length": 1000}})";
  options.external_id = "minimal-c++";  // each start goes on with the trial of this name
  const det::Core core = det::Core::init(options);  // no cluster needed: the master is inside

  int64_t step = core.info().steps_completed();
  double weight = 0;
  if (const char *latest = core.info().latest_checkpoint()) weight = restore(core, latest);
  std::cout << "from step " << step << std::endl;
  train(core, step, weight);
  core.close();
  std::printf("weight %.3f at step %lld\n", weight, static_cast<long long>(step));
  return core.exit_status();  // not 0 when there is more to do
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
