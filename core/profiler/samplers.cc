#include "core/profiler/samplers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/text/printable.h"
#include "core/base/text/string_hash.h"
#include "core/profiler/cgroup.h"
#include "core/profiler/free_space.h"
#include "core/profiler/process_tree.h"
#include "core/profiler/rate.h"
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

class NetworkSampler : public Sampler {
 public:
  explicit NetworkSampler(const Machine &machine) : devices_(machine.proc("net/dev")) {}

  std::string_view group() const override { return "network"; }

  // "  eth0: 1 2 3 4 5 6 7 8 9 10 ...": bytes received are the first, bytes sent the ninth.
  void sample(Clock::time_point now, Batch &batch) override {
    if (!batch.wants_rates()) return;
    std::string_view text = devices_.read();
    while (!text.empty()) {
      std::string_view line = next_line(text);
      const size_t colon = line.rfind(':');  // the name of an alias has one too
      if (colon == line.npos) continue;      // a title
      std::string_view name = line.substr(0, colon);
      name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
      line.remove_prefix(colon + 1);
      const std::optional<uint64_t> received = next_number(line);
      constexpr int between = 7;
      for (int i = 0; i < between; ++i) next_word(line);
      const std::optional<uint64_t> sent = next_number(line);
      if (received && sent) counters_.add(name, {*sent, *received});
    }
    const auto &[sent, received] = counters_.sums();
    if (const auto rate = sent_.of(sent, now)) batch.add_rate("", "net_throughput_sent", *rate);
    if (const auto rate = received_.of(received, now))
      batch.add_rate("", "net_throughput_recv", *rate);
  }

 private:
  SystemFile devices_;
  DeviceCounters<2> counters_;
  Rate sent_, received_;
};

// Short-lived helpers have no figures of their own, nor has one of too many.
constexpr std::chrono::seconds long_lived{5};
constexpr size_t most_told = 16;
// The files of so many stay open, two of each.
constexpr size_t most_open = 64;

struct Transfers {
  uint64_t read = 0, written = 0;
};

class ProcessSampler : public Sampler {
 public:
  explicit ProcessSampler(const Machine &machine) : tree_(machine.root / "proc", machine.process) {}

  std::string_view group() const override { return "process"; }

  void sample(Clock::time_point now, Batch &batch) override {
    std::vector<ProcessTree::Process> &processes = tree_.processes(now);
    uint64_t ticks = 0, threads = 0, resident = 0, count = 0;
    Transfers transfers;
    bool shows_io = false;
    for (auto it = processes.begin(); it != processes.end();) {
      const std::optional<ProcessStat> stat = ProcessTree::stat_of(*it);
      if (!stat) {
        alone_.erase(it->id);
        it = processes.erase(it);
        continue;
      }
      ++count;
      ticks += stat->all_ticks;
      threads += stat->threads;
      resident += stat->resident_pages;
      const auto own = batch.wants_rates() ? transfers_of(*it) : std::nullopt;
      if (own) {
        shows_io = true;
        transfers.read += own->read;
        transfers.written += own->written;
      }
      if (now - it->since >= long_lived || it == processes.begin())
        tell(*it, *stat, own, now, batch);
      if (processes.size() > most_open) {
        it->stat.close();
        it->io.close();
      }
      ++it;
    }
    if (count == 0)
      throw Error(Code::unsupported, "measuring the trial's processes: none is visible");
    if (const auto rate = ticks_.of(ticks, now)) batch.add("", "cpu_util", percent(*rate));
    batch.add("", "memory_rss", bytes(resident));
    batch.add("", "processes", static_cast<double>(count));
    batch.add("", "threads", static_cast<double>(threads));
    if (shows_io) add_rates(transfers_, transfers, "", now, batch);
  }

 private:
  struct TransferRates {
    Rate read, written;
  };
  struct Alone {
    std::string label;
    Rate ticks;
    TransferRates transfers;
  };

  static double percent(double ticks_a_second) {
    static const auto second = static_cast<double>(sysconf(_SC_CLK_TCK));
    return ticks_a_second / second * 100;
  }
  static double bytes(uint64_t pages) {
    static const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
    return static_cast<double>(pages) * page;
  }

  static void add_rates(TransferRates &rates, const Transfers &transfers, std::string_view label,
                        Clock::time_point now, Batch &batch) {
    if (const auto rate = rates.read.of(transfers.read, now))
      batch.add_rate(label, "io_read", *rate);
    if (const auto rate = rates.written.of(transfers.written, now))
      batch.add_rate(label, "io_write", *rate);
  }

  // Only its owner may see it.
  static std::optional<Transfers> transfers_of(ProcessTree::Process &process) {
    if (!process.shows_io) return std::nullopt;
    try {
      const std::string_view text = process.io.read();
      return Transfers{number_of(text, "read_bytes:").value_or(0),
                       number_of(text, "write_bytes:").value_or(0)};
    } catch (const Error &) {
      process.shows_io = false;
      return std::nullopt;
    }
  }

  void tell(const ProcessTree::Process &process, const ProcessStat &stat,
            const std::optional<Transfers> &transfers, Clock::time_point now, Batch &batch) {
    auto found = alone_.find(process.id);
    if (found == alone_.end()) {
      if (alone_.size() == most_told) return;
      const std::string label = std::to_string(process.id) + " " + printable(stat.command);
      found = alone_.emplace(process.id, Alone{label, {}, {}}).first;
    }
    Alone &alone = found->second;
    if (const auto rate = alone.ticks.of(stat.ticks, now))
      batch.add(alone.label, "cpu_util", percent(*rate));
    batch.add(alone.label, "memory_rss", bytes(stat.resident_pages));
    if (transfers) add_rates(alone.transfers, *transfers, alone.label, now, batch);
  }

  ProcessTree tree_;
  Rate ticks_;
  TransferRates transfers_;
  std::unordered_map<pid_t, Alone> alone_;
};

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

std::unique_ptr<Sampler> make_cpu_sampler(const Machine &machine) {
  return std::make_unique<CpuSampler>(machine);
}

std::unique_ptr<Sampler> make_memory_sampler(const Machine &machine) {
  return std::make_unique<MemorySampler>(machine);
}

std::unique_ptr<Sampler> make_disk_sampler(const Machine &machine) {
  return std::make_unique<DiskSampler>(machine);
}

std::unique_ptr<Sampler> make_network_sampler(const Machine &machine) {
  return std::make_unique<NetworkSampler>(machine);
}

std::unique_ptr<Sampler> make_process_sampler(const Machine &machine) {
  return std::make_unique<ProcessSampler>(machine);
}

std::unique_ptr<Sampler> make_pressure_sampler(const Machine &machine) {
  if (const auto own = pressure_directory(machine))
    return std::make_unique<PressureSampler>(*own, ".pressure");
  std::error_code ignored;
  const std::filesystem::path directory = machine.proc("pressure");
  if (!std::filesystem::is_directory(directory, ignored)) return nullptr;
  return std::make_unique<PressureSampler>(directory, "");
}

std::vector<std::unique_ptr<Sampler>> make_machine_samplers(const Machine &machine) {
  std::vector<std::unique_ptr<Sampler>> samplers;
  samplers.push_back(make_cpu_sampler(machine));
  samplers.push_back(make_memory_sampler(machine));
  samplers.push_back(make_disk_sampler(machine));
  samplers.push_back(make_network_sampler(machine));
  if (machine.process != 0) samplers.push_back(make_process_sampler(machine));
  if (auto pressure = make_pressure_sampler(machine)) samplers.push_back(std::move(pressure));
  return samplers;
}

}  // namespace det::profiler
