#include <unistd.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/base/string_hash.h"
#include "core/profiler/free_space.h"
#include "core/profiler/rate.h"
#include "core/profiler/samplers.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

namespace {

constexpr uint64_t sector = 512;  // in these files, whatever the disk has

// Whose fill level is told: the machine's own, and where clusters mount what all machines share.
constexpr std::array<const char *, 2> told_paths = {"/", "/determined_shared_fs"};

class DiskSampler : public Sampler {
 public:
  explicit DiskSampler(const Machine &machine)
      : blocks_(machine.sys("block")), stats_(machine.proc("diskstats")), space_(told(machine)) {}

  std::string_view group() const override { return "disk"; }

  void sample(Clock::time_point now, Batch &batch) override {
    if (batch.wants_rates()) add_rates(now, batch);
    add_space(now, batch);
  }

 private:
  static std::vector<std::filesystem::path> told(const Machine &machine) {
    std::vector<std::filesystem::path> paths;
    for (const char *path : told_paths)
      paths.push_back(machine.root / std::filesystem::path(path).relative_path());
    return paths;
  }

  void add_rates(Clock::time_point now, Batch &batch) {
    std::string_view text = stats_.read();
    while (!text.empty()) read_line(next_line(text));
    const auto &[operations, read, written] = counters_.sums();
    if (const auto rate = operations_.of(operations, now)) batch.add_rate("", "disk_iops", *rate);
    if (const auto rate = read_.of(read * sector, now))
      batch.add_rate("", "disk_throughput_read", *rate);
    if (const auto rate = written_.of(written * sector, now))
      batch.add_rate("", "disk_throughput_write", *rate);
  }

  void add_space(Clock::time_point now, Batch &batch) {
    // It changes slowly, and whoever answers may be far away.
    constexpr std::chrono::milliseconds often{900};
    const bool is_known =
        std::ranges::any_of(used_, [](const auto &used) { return used.has_value(); });
    if (!asked_ || !is_known || now - *asked_ >= often) {
      used_ = space_.ask();
      asked_ = now;
    }
    for (size_t i = 0; i < used_.size(); ++i)
      if (used_[i]) batch.add(told_paths[i], "disk_util", *used_[i]);
  }

  // "8 0 sda", then of reads: how many, merged, sectors, time; and the same of writes. Newer
  // kernels have more behind these. Old ones have four numbers for a partition, and it is no whole
  // disk.
  void read_line(std::string_view line) {
    next_word(line);
    next_word(line);
    const std::string_view name = next_word(line);
    if (name.empty() || !is_whole(name)) return;
    std::array<uint64_t, 7> numbers{};
    size_t count = 0;
    for (; count < numbers.size(); ++count) {
      const std::optional<uint64_t> number = next_number(line);
      if (!number) break;
      numbers[count] = *number;
    }
    constexpr size_t few = 4;
    if (count == numbers.size())
      counters_.add(name, {numbers[0] + numbers[4], numbers[2], numbers[6]});
    else if (count == few) counters_.add(name, {numbers[0] + numbers[2], numbers[1], numbers[3]});
  }

  bool is_whole(std::string_view name) {
    if (const auto known = is_whole_.find(name); known != is_whole_.end()) return known->second;
    std::string file(name);
    std::ranges::replace(file, '/', '!');  // as "cciss/c0d0" is called there
    return is_whole_.emplace(name, access((blocks_ / file).c_str(), F_OK) == 0).first->second;
  }

  const std::filesystem::path blocks_;
  SystemFile stats_;
  FreeSpace space_;
  std::unordered_map<std::string, bool, StringHash, std::equal_to<>> is_whole_;
  DeviceCounters<3> counters_;
  Rate operations_, read_, written_;
  std::optional<Clock::time_point> asked_;
  std::vector<std::optional<double>> used_;
};

}  // namespace

std::unique_ptr<Sampler> make_disk_sampler(const Machine &machine) {
  return std::make_unique<DiskSampler>(machine);
}

}  // namespace det::profiler
