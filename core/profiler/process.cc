#include <unistd.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/profiler/process_tree.h"
#include "core/profiler/rate.h"
#include "core/profiler/samplers.h"

namespace det::profiler {

namespace {

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
      throw Error(Code::unsupported, "measuring the trial's processes: there are none to be seen");
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

}  // namespace

std::unique_ptr<Sampler> make_process_sampler(const Machine &machine) {
  return std::make_unique<ProcessSampler>(machine);
}

}  // namespace det::profiler
