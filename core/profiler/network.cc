#include "core/profiler/rate.h"
#include "core/profiler/samplers.h"
#include "core/profiler/system_file.h"

namespace det::profiler {

namespace {

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

}  // namespace

std::unique_ptr<Sampler> make_network_sampler(const Machine &machine) {
  return std::make_unique<NetworkSampler>(machine);
}

}  // namespace det::profiler
