// Counts to 30 and stops after every ten: each start goes on from the latest checkpoint.
// "counter" is this program's own name for the trial, under which the next start finds it.
//
//     c++ -std=c++17 checkpoint.cc $(pkg-config --cflags --libs detcore-cpp) -o checkpoint
//     ./checkpoint
#include <det/core.hpp>
#include <fstream>
#include <iostream>
#include <string>

int restore(const det::Checkpoint &checkpoint, const char *id) {
  const det::CheckpointReader stored = checkpoint.read(id);  // verifies it
  std::ifstream file(stored.path() / "count.txt");
  file.exceptions(std::ios::failbit | std::ios::badbit);
  int count;
  file >> count;
  return count;
}

void save(const det::Checkpoint &checkpoint, int count) {
  const det::CheckpointWriter store =
      checkpoint.write("{\"steps_completed\": " + std::to_string(count) + "}");
  std::ofstream file(store.path() / "count.txt");
  file.exceptions(std::ios::failbit | std::ios::badbit);
  file << count << '\n';
  file.close();
  store.commit();  // visible from here on, and complete; after an exception nothing is left
}

int main() try {
  det::CoreOptions options;
  options.external_id = "counter";
  const det::Core core = det::Core::init(options);
  const det::Preempt preempt = core.preempt();

  const char *latest = core.info().latest_checkpoint();
  int count = latest != nullptr ? restore(core.checkpoint(), latest) : 0;
  std::cout << "from " << count;
  while (count < 30 && !preempt.should_preempt()) {
    ++count;
    if (count == 10 || count == 20) preempt.request();  // as `det pause` would
  }
  std::cout << " to " << count << '\n';
  save(core.checkpoint(), count);
  core.close();
  return core.exit_status();  // not 0 when there is more to do
} catch (const std::exception &error) {
  std::cerr << "checkpoint: " << error.what() << '\n';
  return 1;
}
