#include "curve_choice.h"

#include <algorithm>
#include <utility>

#include "core/config/experiment/suggestion.h"
#include "exit_code.h"

namespace det::cli {

namespace {

bool ends_with_part(const std::string &name, const std::string &part) {
  return name.size() > part.size() && name.ends_with(part) &&
         name[name.size() - part.size() - 1] == '.';
}

bool is_named(const Curve &curve, const std::string &argument) {
  return argument == curve.metric || argument == curve.group + "." + curve.metric;
}

// By the end of a nested name, by the group, or by both.
bool is_meant(const Curve &curve, const std::string &argument) {
  if (argument == curve.group || ends_with_part(curve.metric, argument)) return true;
  return argument.starts_with(curve.group + ".") &&
         ends_with_part(curve.metric, argument.substr(curve.group.size() + 1));
}

std::vector<Curve> choose_losses(std::vector<Curve> curves) {
  const auto is_loss = [](const Curve &curve) {
    return curve.metric.find("loss") != std::string::npos;
  };
  const bool any = std::any_of(curves.begin(), curves.end(), is_loss);
  const std::string first = curves.empty() ? "" : curves.front().metric;
  std::erase_if(curves,
                [&](const Curve &curve) { return any ? !is_loss(curve) : curve.metric != first; });
  return curves;
}

[[noreturn]] void fail_without(int64_t trial, const std::string &argument,
                               const std::vector<Curve> &curves, const MetricNames &known) {
  std::vector<std::string> names;
  for (const Curve &curve : curves) {
    names.push_back(curve.metric);
    names.push_back(curve.group + "." + curve.metric);
    names.push_back(curve.metric.substr(curve.metric.find_last_of('.') + 1));
  }
  const std::string nearest = config::suggestion(argument, names);
  if (nearest.empty()) known.require(trial, std::nullopt, {argument});
  throw Failure(ExitCode::not_found, "trial " + std::to_string(trial) + " has no metric '" +
                                         argument + "'; did you mean '" + nearest + "'? it has " +
                                         known.listed(few_names));
}

}  // namespace

std::vector<Curve> choose_curves(int64_t trial, std::vector<Curve> curves,
                                 const std::vector<std::string> &arguments,
                                 const MetricNames &known) {
  if (arguments.empty()) return choose_losses(std::move(curves));
  std::vector<size_t> places;  // in the order of the arguments
  for (const std::string &argument : arguments) {
    std::vector<size_t> found;
    for (bool (*const fits)(const Curve &, const std::string &) : {is_named, is_meant}) {
      if (!found.empty()) break;
      for (size_t i = 0; i < curves.size(); ++i)
        if (fits(curves[i], argument)) found.push_back(i);
    }
    if (found.empty()) fail_without(trial, argument, curves, known);
    for (const size_t i : found)
      if (std::find(places.begin(), places.end(), i) == places.end()) places.push_back(i);
  }
  std::vector<Curve> chosen;
  for (const size_t i : places) chosen.push_back(std::move(curves[i]));
  return chosen;
}

std::optional<std::string> only_group(const MetricNames &known,
                                      const std::vector<std::string> &arguments) {
  for (const auto &listed : known.groups) {
    const std::string &group = listed.first;
    const std::string start = group + ".";
    if (!arguments.empty() &&
        std::all_of(arguments.begin(), arguments.end(), [&](const std::string &argument) {
          return (argument == group || argument.starts_with(start)) &&
                 !known.has(std::nullopt, {argument});
        }))
      return group;
  }
  return std::nullopt;
}

}  // namespace det::cli
