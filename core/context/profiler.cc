#include "core/context/profiler.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/report.h"
#include "core/base/text/dotted_name.h"
#include "core/base/text/printable.h"
#include "core/profiler/gpu/gpu.h"
#include "core/profiler/samplers.h"

namespace det::context {

namespace {

// Ranks of one machine are children of what has started them all; of a rank alone, what is around
// it may be anything.
pid_t root_of_trial(const comm::Ranks &ranks) {
  constexpr pid_t everybodys = 1;
  const pid_t parent = getppid();
  return ranks.local_size > 1 && parent > everybodys ? parent : getpid();
}

constexpr std::chrono::seconds region_interval{10};

Json to_json(const profiler::RegionSum &sum) {
  return {{"seconds", sum.seconds}, {"count", sum.count}, {"share", sum.share}};
}

}  // namespace

ProfilerContext::ProfilerContext(const Lifetime &lifetime, const comm::Ranks &ranks,
                                 const std::string &agent, journal::Spool *spool,
                                 std::shared_ptr<Logger> logger)
    : lifetime_(lifetime),
      ranks_(ranks),
      agent_(printable(agent)),
      spool_(spool),
      logger_(std::move(logger)),
      state_(std::make_unique<State>()) {}

ProfilerContext::~ProfilerContext() {
  // The thread exists only in the parent.
  if (lifetime_.in_child()) static_cast<void>(state_.release());
}

void ProfilerContext::configure(const Json &config) noexcept try {
  const Json *enabled = find_by_dotted_name(config, "profiling.enabled");
  if (enabled == nullptr || *enabled != true) return;
  constexpr double second = 1;
  constexpr int samples = 10;
  on(second, samples);
  const Json *begin = find_by_dotted_name(config, "profiling.begin_on_batch");
  const Json *end = find_by_dotted_name(config, "profiling.end_after_batch");
  if ((begin != nullptr && *begin != 0 && !begin->is_null()) || (end != nullptr && !end->is_null()))
    logger_->warning(
        "profiling.begin_on_batch and end_after_batch do nothing: the whole run is sampled");
} catch (const std::exception &failure) {
  logger_->warning(failure.what(), "; training continues without it");
}

void ProfilerContext::on(double sampling_interval, int samples_per_report) {
  lifetime_.check();
  const std::lock_guard lock(state_->mutex);
  lifetime_.check();  // a close meanwhile has stopped what there was
  if (state_->sampling) return;
  if (!(sampling_interval >= 0.1))
    throw Error(Code::invalid, "starting the profiler: sampling_interval " +
                                   std::to_string(sampling_interval) +
                                   " is too short; give 0.1 seconds or more");
  if (samples_per_report < 1)
    throw Error(Code::invalid, "starting the profiler: samples_per_report " +
                                   std::to_string(samples_per_report) + "; give 1 or more");
  if (ranks_.local_rank != 0) return;
  if (spool_ == nullptr)
    return logger_->warning("the profiler does not sample on rank ", std::to_string(ranks_.rank),
                            ", which cannot report: it does not reach the master");
  const profiler::Machine machine{.root = "/", .process = root_of_trial(ranks_)};
  state_->sampling = std::make_unique<profiler::Sampling>(
      [machine, logger = logger_] {
        auto samplers = profiler::make_gpu_samplers(machine, *logger);
        for (auto &sampler : profiler::make_machine_samplers(machine))
          samplers.push_back(std::move(sampler));
        return samplers;
      },
      [this](std::string_view group, const Json &averages) {
        spool_->append_metrics_json(group, no_steps, to_wire({{agent_, averages}}), "");
      },
      logger_,
      profiler::SamplingOptions{std::chrono::duration<double>(sampling_interval),
                                samples_per_report});
}

void ProfilerContext::off() {
  lifetime_.check();
  stop();
}

void ProfilerContext::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->sampling.reset();
}

RegionReports::RegionReports(profiler::Regions &regions, const comm::Ranks &ranks,
                             journal::Spool &spool, journal::Shipper &shipper, Logger &logger)
    : regions_(regions),
      rank_(ranks.size > 1 ? "rank " + std::to_string(ranks.rank) : ""),
      spool_(spool),
      logger_(logger) {
  regions_.on_first(
      [this, &shipper] { shipper.call_every(region_interval, [this] { report(); }); });
}

void RegionReports::report() {
  const std::optional<profiler::RegionReport> taken = regions_.take();
  for (const std::string &warning : regions_.take_warnings()) logger_.warning(warning);
  if (!taken || (taken->regions.empty() && taken->library.count == 0)) return;
  Json sums = Json::object();
  for (const auto &[path, sum] : taken->regions) sums[path] = to_json(sum);
  sums[std::string(profiler::Regions::library_name)] = to_json(taken->library);
  const Json all = rank_.empty() ? std::move(sums) : Json{{rank_, std::move(sums)}};
  spool_.append_metrics_json("regions", no_steps, to_wire(all), "");
}

}  // namespace det::context
