#include <algorithm>

#include "core/base/error.h"
#include "core/profiler/cgroup.h"
#include "core/profiler/samplers.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

namespace {

constexpr uint64_t kibibyte = 1024;

class MemorySampler : public Sampler {
 public:
  explicit MemorySampler(const Machine &machine)
      : machine_(machine), meminfo_(machine.proc("meminfo")) {}

  std::string_view group() const override { return "memory"; }

  void sample(Clock::time_point, Batch &batch) override {
    const std::string_view text = meminfo_.read();
    if (!std::exchange(looked_, true))
      limits_ = MemoryLimit::find(machine_, of(text, "MemTotal:").value_or(0));
    uint64_t free = free_of_machine(text);
    for (MemoryLimit &limit : limits_) free = std::min(free, limit.free());
    batch.add("", "memory_free", static_cast<double>(free));
  }

 private:
  static std::optional<uint64_t> of(std::string_view text, std::string_view key) {
    const std::optional<uint64_t> kibibytes = number_of(text, key);
    return kibibytes ? std::optional(*kibibytes * kibibyte) : std::nullopt;
  }

  uint64_t free_of_machine(std::string_view text) const {
    // Some containers show 0, and kernels before 3.14 nothing.
    if (const auto free = of(text, "MemAvailable:"); free && *free > 0) return *free;
    const auto unused = of(text, "MemFree:");
    if (!unused)
      throw Error(Code::unsupported,
                  "reading '" + meminfo_.path().string() + "': it says nothing of free memory");
    return *unused + of(text, "Buffers:").value_or(0) + of(text, "Cached:").value_or(0);
  }

  const Machine machine_;
  SystemFile meminfo_;
  bool looked_ = false;
  std::vector<MemoryLimit> limits_;
};

}  // namespace

std::unique_ptr<Sampler> make_memory_sampler(const Machine &machine) {
  return std::make_unique<MemorySampler>(machine);
}

}  // namespace det::profiler
