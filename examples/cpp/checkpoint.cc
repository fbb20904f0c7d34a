// Saves and restores a checkpoint by hand.
//
// The program counts to 30 and stops after every ten. Each start resumes from the latest
// checkpoint. The name "counter" identifies the trial: the next start with this name finds it.
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
  store.commit();  // now it is complete and visible; an exception leaves nothing behind
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
  return core.exit_status();  // not 0 if more work remains
} catch (const std::exception &error) {
  std::cerr << "checkpoint: " << error.what() << '\n';
  return 1;
}
