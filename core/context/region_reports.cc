#include "core/context/region_reports.h"

#include <chrono>

#include "core/base/json.h"
#include "core/base/report.h"

namespace det::context {

namespace {

constexpr std::chrono::seconds interval{10};

Json to_json(const profiler::RegionSum &sum) {
  return {{"seconds", sum.seconds}, {"count", sum.count}, {"share", sum.share}};
}

}  // namespace

RegionReports::RegionReports(profiler::Regions &regions, const comm::Ranks &ranks,
                             journal::Spool &spool, journal::Shipper &shipper, Logger &logger)
    : regions_(regions),
      rank_(ranks.size > 1 ? "rank " + std::to_string(ranks.rank) : ""),
      spool_(spool),
      logger_(logger) {
  regions_.on_first([this, &shipper] { shipper.call_every(interval, [this] { report(); }); });
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
