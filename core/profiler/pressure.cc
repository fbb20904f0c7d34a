#include <string>

#include "core/profiler/cgroup.h"
#include "core/profiler/rate.h"
#include "core/profiler/samplers.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

namespace {

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" and maybe "full ...": microseconds since ever in
// which some of the processes waited, and in which all did.
class PressureSampler : public Sampler {
 public:
  PressureSampler(const std::filesystem::path &directory, const std::string &extension) {
    for (const char *resource : {"cpu", "memory", "io"})
      resources_.push_back({resource, SystemFile(directory / (resource + extension))});
  }

  std::string_view group() const override { return "pressure"; }

  void sample(Clock::time_point now, Batch &batch) override {
    if (!batch.wants_rates()) return;
    for (Resource &resource : resources_) {
      std::string_view text = resource.file.read();
      while (!text.empty()) {
        std::string_view line = next_line(text);
        const bool some = next_word(line) == "some";
        const size_t total = line.rfind("total=");
        if (total == line.npos) continue;
        const auto us = number_from(line.substr(total + 6));
        if (!us) continue;
        const auto rate = (some ? resource.some : resource.full).of(*us, now);
        if (rate) batch.add_rate(resource.name, some ? "some" : "full", *rate / 1e6 * 100);
      }
    }
  }

 private:
  struct Resource {
    std::string name;
    SystemFile file;
    Rate some{}, full{};
  };
  std::vector<Resource> resources_;
};

}  // namespace

std::unique_ptr<Sampler> make_pressure_sampler(const Machine &machine) {
  if (const auto own = pressure_directory(machine))
    return std::make_unique<PressureSampler>(*own, ".pressure");
  std::error_code ignored;
  const std::filesystem::path directory = machine.proc("pressure");
  if (!std::filesystem::is_directory(directory, ignored)) return nullptr;
  return std::make_unique<PressureSampler>(directory, "");
}

}  // namespace det::profiler
