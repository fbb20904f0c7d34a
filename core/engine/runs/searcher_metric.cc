#include "core/engine/runs/searcher_metric.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::engine {

namespace {

// As the platform's database reads texts: with space around them, in any case, with a sign.
std::optional<double> number_in(std::string_view text) {
  constexpr const char *space = " \t\n\r\f\v";
  const size_t begin = text.find_first_not_of(space);
  if (begin == text.npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(space) - begin + 1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  // Only our spellings of what is not finite: from_chars() also reads "nan(x)".
  double value = 0;
  const char *const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || text.back() == ')') return std::nullopt;
  return value;
}

}  // namespace

std::optional<SearcherMetric> searcher_metric(const Json &config) {
  const Json searcher = config.value("searcher", Json());
  if (!searcher.is_object()) return std::nullopt;
  const Json name = searcher.value("metric", Json());
  if (!name.is_string()) return std::nullopt;
  const Json smaller = searcher.value("smaller_is_better", Json());
  return SearcherMetric{name.get<std::string>(), !smaller.is_boolean() || smaller.get<bool>()};
}

std::optional<double> searcher_value(const Json &metrics, const SearcherMetric &metric) {
  const auto found = metrics.find(metric.name);
  if (found == metrics.end() || found->is_null()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  if (found->is_string())
    if (const auto value = number_in(found->get_ref<const std::string &>())) return value;
  throw Error(Code::invalid, "\"" + metric.name + "\" is " + to_wire(*found) +
                                 ", and the search over it needs a number");
}

MetricRank rank_of(std::optional<double> value, const SearcherMetric &metric) {
  if (!value) return {2, 0};
  if (std::isnan(*value)) return {1, 0};
  return {0, metric.smaller_is_better ? *value : -*value};
}

}  // namespace det::engine
