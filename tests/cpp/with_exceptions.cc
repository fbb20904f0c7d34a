// The part of a program that is compiled with exceptions.
#include <det/core.hpp>

#include <cstdio>
#include <stdexcept>

int check_exceptions(const det::Core &core) {
  int thrown = 0;
  try {
    core.train().report_training_metrics(-1, {{"loss", 0.5}});
  } catch (const det::Error &error) {
    thrown += error.code() == det::Code::invalid;
  }
  det::CheckpointOptions options;
  options.progress = [](const det::Progress &) -> bool { throw std::runtime_error("progress"); };
  const det::CheckpointWriter store = core.checkpoint().write(R"({"steps_completed": 2})", options);
  try {
    store.commit();
  } catch (const std::runtime_error &error) {
    thrown += std::string(error.what()) == "progress";
  }
  if (thrown != 2) std::fprintf(stderr, "%d of 2 exceptions came back\n", thrown);
  return 2 - thrown;
}
