// The GPUs of this machine, against what nvidia-smi says of them.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/process/run_command.h"
#include "core/profiler/gpu/nvidia_gpus.h"
#include "tests/patience.h"
#include "tests/profiler/figures.h"

namespace {

using namespace det;
using namespace det::profiler;

std::vector<std::vector<std::string>> ask_nvidia_smi() {
  const CommandResult said = run_command(
      "nvidia-smi --format=csv,noheader,nounits "
      "--query-gpu=uuid,memory.free,memory.used,power.draw,temperature.gpu,utilization.gpu,"
      "clocks.max.sm",
      {}, std::chrono::seconds(TEST_PATIENCE_SECONDS));
  assert_equal(said.status, 0);
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(said.output);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> &row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');)
      row.push_back(cell.substr(cell.find_first_not_of(' ')));
    assert_equal(row.size(), 7);
  }
  return rows;
}

// `said` is "[N/A]" where there is nothing to tell, and so are we then.
void assert_near(const Figures &figures, const std::string &uuid, const char *name,
                 const std::string &said, double unit, double tolerance) {
  if (said[0] == '[') return assert_false(figures.has(uuid, name));
  const double theirs = std::stod(said) * unit, ours = figures.of(uuid, name);
  print_message("# %s: %s is %g, nvidia-smi says %g\n", uuid.c_str(), name, ours, theirs);
  assert_true(std::abs(ours - theirs) <= tolerance);
}

void figures_are_those_of_nvidia_smi(void **) {
  constexpr double mib = 1 << 20;
  Logger log(LogLevel::debug,
             [](LogLevel, const std::string &line) { fail_msg("%s", line.c_str()); });
  Figures figures;
  for (const auto &sampler : make_gpu_samplers({}, log)) sampler->sample(Clock::now(), figures);
  const auto rows = ask_nvidia_smi();
  assert_true(!rows.empty());
  for (const auto &row : rows) {
    const std::string &uuid = row[0];
    // Others may be at work on it, and its fans too.
    assert_near(figures, uuid, "gpu_free_memory", row[1], mib, 1024 * mib);
    assert_near(figures, uuid, "gpu_used_memory", row[2], mib, 1024 * mib);
    assert_near(figures, uuid, "gpu_power", row[3], 1, 100);
    assert_near(figures, uuid, "gpu_temperature", row[4], 1, 10);
    assert_near(figures, uuid, "gpu_util", row[5], 1, 100);
    assert_near(figures, uuid, "gpu_clock", row[6], 1, row[6][0] == '[' ? 0 : std::stod(row[6]));
  }
}

}  // namespace

int main() {
  unsetenv("CUDA_VISIBLE_DEVICES");
  Logger log;
  if (find_nvidia_gpus({}, log, Nvml::library_name).empty()) {
    std::puts("skipped: no GPU of NVIDIA here");
    return 77;
  }
  const CMUnitTest tests[] = {cmocka_unit_test(figures_are_those_of_nvidia_smi)};
  return cmocka_run_group_tests_name("nvidia-smi", tests, nullptr, nullptr);
}
