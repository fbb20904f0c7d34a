#include "core/profiler/averages.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::profiler {

void GroupAverages::add(std::string_view label, std::string_view name, double value) {
  if (!std::isfinite(value)) return;
  const auto is_it = [&](const Sum &sum) { return sum.label == label && sum.name == name; };
  if (next_ < sums_.size() && is_it(sums_[next_])) {
    sums_[next_++].sum += value;
    return;
  }
  const auto found = std::ranges::find_if(sums_, is_it);
  next_ = static_cast<size_t>(found - sums_.begin()) + 1;
  if (found != sums_.end()) found->sum += value;
  else sums_.push_back({std::string(label), std::string(name), value});
}

Json GroupAverages::averages() const {
  Json all = Json::object();
  for (const Sum &one : sums_) {
    Json &values = one.label.empty() ? all : all[one.label];
    values[one.name] = one.sum / samples_;
  }
  return all;
}

Averages::Averages(std::vector<std::unique_ptr<Sampler>> samplers, std::shared_ptr<Logger> logger)
    : logger_(std::move(logger)) {
  for (std::unique_ptr<Sampler> &sampler : samplers) {
    const std::string_view name = sampler->group();
    auto group = std::ranges::find(groups_, name, &GroupAverages::group);
    if (group == groups_.end()) group = groups_.insert(groups_.end(), GroupAverages(name));
    sources_.push_back({std::move(sampler), static_cast<size_t>(group - groups_.begin())});
  }
}

void Averages::sample(Clock::time_point now, bool last) {
  // A sample at the usual interval of a second reads them all.
  constexpr std::chrono::milliseconds often{900};
  ++samples_;
  ++without_rates_;
  int rates_of = 0;
  if (last || !read_rates_ || now - *read_rates_ >= often) {
    rates_of = std::exchange(without_rates_, 0);
    read_rates_ = now;
  }
  for (GroupAverages &group : groups_) group.begin_sample(rates_of);
  std::erase_if(sources_, [&](Source &source) {
    GroupAverages &group = groups_[source.group];
    try {
      source.sampler->sample(now, group);
      return false;
    } catch (const std::exception &failure) {
      const bool is_lasting = as_error(failure).code == Code::unsupported;
      if (!std::exchange(source.told, true))
        logger_->warning("profiling ", group.group(), ": ", failure.what(),
                         is_lasting ? "; this is left out" : "; this is left out until it works");
      return is_lasting;
    }
  });
}

void Averages::forget() {
  samples_ = without_rates_ = 0;
  for (GroupAverages &group : groups_) group.forget();
}

void Averages::report(const Take &take) {
  for (const GroupAverages &group : groups_)
    if (!group.empty()) take(group.group(), group.averages());
  forget();
}

}  // namespace det::profiler
