#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "core/profiler/cgroup.h"
#include "core/profiler/rate.h"
#include "core/profiler/samplers.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

namespace {

// Of the line "cpu" in /proc/stat, which is the sum of all: user, nice, system, idle, iowait, irq,
// softirq, steal. What guests took is in the first two already.
using Ticks = std::array<uint64_t, 8>;
constexpr size_t idle = 3, waiting = 4;

double rounded(double percent) { return std::round(percent * 10) / 10; }

class CpuSampler : public Sampler {
 public:
  explicit CpuSampler(const Machine &machine) : machine_(machine), stat_(machine.proc("stat")) {}

  std::string_view group() const override { return "cpu"; }

  void sample(Clock::time_point now, Batch &batch) override {
    if (!batch.wants_rates()) return;
    if (!std::exchange(looked_, true)) limit_ = CpuLimit::find(machine_, count_cpus(stat_.read()));
    const std::optional<double> percent = limit_ ? of_limit(now) : of_machine();
    if (percent) batch.add_rate("", "cpu_util_simple", rounded(*percent));
  }

 private:
  static double count_cpus(std::string_view text) {
    double count = 0;
    for (std::string_view name = next_line(text); !text.empty(); name = next_line(text))
      if (name.size() > 3 && name.substr(0, 3) == "cpu" && name[3] != ' ') ++count;
    return count;
  }

  std::optional<double> of_limit(Clock::time_point now) {
    const std::optional<double> used = rate_.of(limit_->used_ns(), now);
    if (!used) return std::nullopt;
    return std::min(100.0, *used / 1e9 / limit_->cpus() * 100);
  }

  std::optional<double> of_machine() {
    std::string_view text = stat_.read();
    std::string_view line = next_line(text);
    if (next_word(line) != "cpu") return std::nullopt;
    Ticks ticks{};
    for (uint64_t &count : ticks) count = next_number(line).value_or(0);  // old kernels have fewer
    const std::optional<Ticks> before = std::exchange(last_, ticks);
    if (!before) return std::nullopt;
    uint64_t all = 0, unused = 0;
    for (size_t i = 0; i < ticks.size(); ++i) {
      // Time of waiting steps back now and then, by the kernel's own description.
      const uint64_t grown = ticks[i] > (*before)[i] ? ticks[i] - (*before)[i] : 0;
      all += grown;
      if (i == idle || i == waiting) unused += grown;
    }
    if (all == 0) return std::nullopt;
    return 100 * static_cast<double>(all - unused) / static_cast<double>(all);
  }

  const Machine machine_;
  SystemFile stat_;
  bool looked_ = false;
  std::optional<CpuLimit> limit_;
  Rate rate_;                  // below a limit
  std::optional<Ticks> last_;  // without one
};

}  // namespace

std::unique_ptr<Sampler> make_cpu_sampler(const Machine &machine) {
  return std::make_unique<CpuSampler>(machine);
}

}  // namespace det::profiler
