#include "wrappers/cli/commands/metric_names.h"

#include <algorithm>

#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

std::vector<std::string> MetricNames::of(const std::optional<std::string> &group) const {
  std::vector<std::string> out;
  for (const auto &[name, metrics] : groups) {
    if (group && *group != name) continue;
    for (const std::string &metric : metrics) {
      if (std::find(out.begin(), out.end(), metric) == out.end()) out.push_back(metric);
    }
  }
  return out;
}

std::string MetricNames::listed(size_t most) const {
  std::string out;
  for (const auto &[name, metrics] : groups) {
    const size_t count = std::min(metrics.size(), most);
    const std::vector<std::string> first(metrics.begin(),
                                         metrics.begin() + static_cast<std::ptrdiff_t>(count));
    out += (out.empty() ? "" : "; ") + name + ": " + joined(first);
    if (metrics.size() > count) out += " and " + std::to_string(metrics.size() - count) + " more";
  }
  return out;
}

bool MetricNames::has(const std::optional<std::string> &group,
                      const std::vector<std::string> &names) const {
  const bool group_there = std::any_of(
      groups.begin(), groups.end(), [&](const auto &it) { return !group || it.first == *group; });
  const std::vector<std::string> there = of(group);
  return (!group || group_there) &&
         std::all_of(names.begin(), names.end(), [&](const std::string &name) {
           return std::find(there.begin(), there.end(), name) != there.end();
         });
}

void MetricNames::require(int64_t trial_id, const std::optional<std::string> &group,
                          const std::vector<std::string> &names) const {
  if (has(group, names)) return;
  std::string wanted = group ? "group '" + *group + "'" : "metric";
  if (has(group, {})) {
    const auto missing = std::find_if(names.begin(), names.end(),
                                      [&](const std::string &name) { return !has(group, {name}); });
    wanted = "metric '" + *missing + "'" + (group ? " in group '" + *group + "'" : "");
  }
  throw Failure(ExitCode::not_found,
                "trial " + std::to_string(trial_id) + " has no " + wanted + "; " +
                    (groups.empty() ? "it has no metrics yet" : "it has " + listed(few_names)));
}

void add_from_reports(Client &client, int64_t trial_id, const std::string &group,
                      MetricNames &names) {
  constexpr int64_t latest = 100;
  std::vector<std::string> found;
  client.each_metric(trial_id, group,
                     [&](const Json &report) {
                       for (const auto &[name, value] : field(report, "metrics").items())
                         if (std::find(found.begin(), found.end(), name) == found.end())
                           found.push_back(name);
                       return true;
                     },
                     {.order = Order::newest_first, .count = latest});
  if (!found.empty()) names.groups.emplace_back(group, std::move(found));
}

MetricNames metric_names(const Json &groups) {
  MetricNames names;
  for (const auto &[group, metrics] : groups.items()) {
    names.groups.emplace_back(group, metrics.get<std::vector<std::string>>());
  }
  return names;
}

}  // namespace det::cli
