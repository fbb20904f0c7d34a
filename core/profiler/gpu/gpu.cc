#include "core/profiler/gpu/gpu.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text/printable.h"
#include "core/profiler/gpu/nvidia_gpus.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

namespace fs = std::filesystem;

namespace {

// Its file pcie_bw is left out: the driver counts for a second before it answers.
class AmdGpu : public Sampler {
 public:
  AmdGpu(const fs::path &device, std::string label)
      : label_(std::move(label)), memory_(number_in(device / "mem_info_vram_total")) {
    const auto offer = [&](const fs::path &file, std::string_view metric, double unit) {
      if (!number_in(file)) return false;
      figures_.push_back({SystemFile(file), metric, unit});
      return true;
    };
    offer(device / "gpu_busy_percent", GpuMetrics::util, 1);
    offer(device / "mem_info_vram_used", GpuMetrics::used_memory, 1);
    for (const std::string &name : entry_names(device / "hwmon")) {
      const fs::path sensors = device / "hwmon" / name;
      // Which of the two there is depends on the model. In microwatts, thousandths of a degree, Hz.
      if (!offer(sensors / "power1_average", GpuMetrics::power, 1e-6))
        offer(sensors / "power1_input", GpuMetrics::power, 1e-6);
      offer(sensors / "temp1_input", GpuMetrics::temperature, 1e-3);
      offer(sensors / "freq1_input", GpuMetrics::clock, 1e-6);
    }
  }

  std::string_view group() const override { return "gpu"; }

  void sample(Clock::time_point /*now*/, Batch &batch) override {
    std::optional<Error> failed;
    std::erase_if(figures_, [&](Figure &figure) {
      try {
        add(figure, batch);
      } catch (const Error &e) {
        if (e.code == Code::unsupported) return true;
        if (!failed) failed = e;
      }
      return false;
    });
    if (failed) throw Error(*failed);
  }

 private:
  struct Figure {
    SystemFile file;
    std::string_view metric;
    double unit;
  };

  void add(Figure &figure, Batch &batch) {
    std::string_view text = figure.file.read();
    const std::optional<uint64_t> number = next_number(text);
    if (!number) return;
    batch.add(label_, figure.metric, static_cast<double>(*number) * figure.unit);
    if (figure.metric == GpuMetrics::used_memory && memory_ && *memory_ >= *number)
      batch.add(label_, GpuMetrics::free_memory, static_cast<double>(*memory_ - *number));
  }

  std::string label_;
  std::optional<uint64_t> memory_;
  std::vector<Figure> figures_;
};

std::string label_of(const fs::path &device) {
  if (const auto id = word_in(device / "unique_id"); id && !id->empty())
    return "GPU-" + printable(*id);
  std::error_code none;
  const fs::path place = fs::read_symlink(device, none);
  return none ? device.parent_path().filename() : place.filename();
}

// AMD's GPUs, as the amdgpu driver shows them below /sys/class/drm. Each is named as ROCm names it
// (GPU-, and its unique_id), or where it has none by its place on the bus (0000:03:00.0).
std::vector<std::unique_ptr<Sampler>> find_amd_gpus(const Machine &machine) {
  const fs::path cards = machine.sys("class/drm");
  std::vector<std::string> names = entry_names(cards);
  std::ranges::sort(names);
  std::vector<std::unique_ptr<Sampler>> gpus;
  for (const std::string &name : names) {
    if (!name.starts_with("card")) continue;  // renderD128 is the same GPU again
    const fs::path device = cards / name / "device";
    if (number_in(device / "gpu_busy_percent"))  // only AMD's driver has it
      gpus.push_back(std::make_unique<AmdGpu>(device, label_of(device)));
  }
  return gpus;
}

}  // namespace

std::vector<std::unique_ptr<Sampler>> make_gpu_samplers(const Machine &machine, Logger &log,
                                                        const char *nvml) {
  std::vector<std::unique_ptr<Sampler>> samplers = find_nvidia_gpus(machine, log, nvml);
  for (auto &gpu : find_amd_gpus(machine)) samplers.push_back(std::move(gpu));
  return samplers;
}

}  // namespace det::profiler
