#include "core/search/settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/search/exact.h"

namespace det::search {

namespace {

using SearchMethod = SearchSettings::Method;
using Mode = SearchSettings::Mode;

constexpr uint64_t most_rungs = 1024;
constexpr uint64_t most_at_once = 1'000'000;

constexpr std::array<std::pair<std::string_view, SearchMethod>, 6> methods{
    {{"single", SearchMethod::single},
     {"random", SearchMethod::random},
     {"grid", SearchMethod::grid},
     {"async_halving", SearchMethod::asha},
     {"adaptive_asha", SearchMethod::adaptive_asha},
     {"custom", SearchMethod::custom}}};
constexpr std::array<std::pair<std::string_view, Mode>, 3> modes{
    {{"aggressive", Mode::aggressive},
     {"standard", Mode::standard},
     {"conservative", Mode::conservative}}};

[[noreturn]] void refuse(const std::string &field, const Json &found, const std::string &expected) {
  const std::string problem = found.is_null() ? "is missing" : "is " + to_wire(found);
  throw Error(Code::invalid, "reading the configuration: searcher." + field + " " + problem +
                                 "; give " + expected);
}

template <class Table>
auto named(const Table &table, const std::string &field, const Json &name) {
  std::string choices;
  for (const auto &[text, value] : table) {
    if (name == text) return value;
    choices += (choices.empty() ? "" : ", ") + std::string(text);
  }
  refuse(field, name, "one of " + choices);
}

class Reader {
 public:
  explicit Reader(const Json &section) : section_(section) {}

  Json get(const char *field) const { return section_.value(field, Json()); }

  uint64_t whole(const char *field, uint64_t least, uint64_t absent) const {
    const Json value = get(field);
    return value.is_null() ? absent : whole_number(value, field, least);
  }
  uint64_t required(const char *field, uint64_t least) const {
    return whole_number(get(field), field, least);
  }
  bool flag(const char *field, bool absent) const {
    const Json value = get(field);
    if (value.is_null()) return absent;
    if (!value.is_boolean()) refuse(field, value, "true or false");
    return value.get<bool>();
  }
  std::string text(const char *field) const {
    const Json value = get(field);
    if (value.is_null()) return {};
    if (!value.is_string()) refuse(field, value, "a text");
    return value.get<std::string>();
  }

  static uint64_t whole_number(const Json &value, const std::string &field, uint64_t least) {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= static_cast<double>(least) && number <= largest_exact) ||
        std::floor(number) != number)
      refuse(field, value, "a whole number that is at least " + std::to_string(least));
    return static_cast<uint64_t>(number);
  }

 private:
  const Json &section_;
};

// A length is a number, or an object like {"batches": 100}, whose unit is then the time metric.
void read_length(const Reader &searcher, uint64_t least, SearchSettings &settings) {
  Json length = searcher.get("max_length");
  if (length.is_object() && length.size() == 1) {
    settings.time_metric = length.begin().key();
    length = Json(length.front());
  }
  settings.max_length = Reader::whole_number(length, "max_length", least);
}

// How long a trial of the ASHA family trains where metrics steer the search.
void read_time(const Reader &searcher, SearchSettings &settings) {
  const std::string metric = searcher.text("time_metric");
  const Json time = searcher.get("max_time");
  if (!metric.empty() && !time.is_null()) {
    settings.time_metric = metric;
    settings.max_length = Reader::whole_number(time, "max_time", 1);
    return;
  }
  if (searcher.get("max_length").is_null())
    refuse(metric.empty() ? "time_metric" : "max_time", Json(),
           "both time_metric and max_time, or max_length as {\"batches\": 100}");
  read_length(searcher, 1, settings);
  if (settings.time_metric.empty())
    refuse("max_length", searcher.get("max_length"), "it with a unit, like {\"batches\": 100}");
}

void read_halving(const Reader &searcher, SearchRules rules, SearchSettings &settings) {
  settings.max_trials = searcher.required("max_trials", 1);
  settings.stop_once = searcher.flag("stop_once", false);
  const Json divisor = searcher.get("divisor");
  if (!divisor.is_null()) settings.divisor = divisor.is_number() ? divisor.get<double>() : 0;
  if (!(settings.divisor > 1 && settings.divisor <= largest_exact))
    refuse("divisor", divisor, "a number that is more than 1");
  if (rules == SearchRules::metrics) read_time(searcher, settings);
  else read_length(searcher, 1, settings);
  if (settings.method == SearchMethod::asha) {
    settings.num_rungs = searcher.required("num_rungs", 1);
    if (settings.num_rungs > most_rungs)
      refuse("num_rungs", settings.num_rungs, "at most " + std::to_string(most_rungs));
    return;
  }
  const Json mode = searcher.get("mode");
  if (!mode.is_null()) settings.mode = named(modes, "mode", mode);
  settings.max_rungs = std::min(searcher.whole("max_rungs", 1, settings.max_rungs), most_rungs);
  const Json rungs = searcher.get("bracket_rungs");
  if (!rungs.is_null() && !rungs.is_array()) refuse("bracket_rungs", rungs, "a list like [3, 2]");
  for (const Json &rung : rungs) {
    settings.bracket_rungs.push_back(Reader::whole_number(rung, "bracket_rungs", 1));
    if (settings.bracket_rungs.back() > most_rungs || settings.bracket_rungs.size() > most_rungs)
      refuse("bracket_rungs", rungs, "at most " + std::to_string(most_rungs));
  }
}

}  // namespace

SearchSettings read_search_settings(const Json &section, SearchRules rules) {
  if (!section.is_object())
    throw Error(Code::invalid, "reading the configuration: searcher is " + to_wire(section) +
                                   "; give an object like {\"name\": \"single\", \"metric\": "
                                   "\"loss\", \"max_length\": {\"batches\": 100}}");
  const Reader searcher(section);
  const Json name = searcher.get("name");
  for (const char *removed : {"sync_halving", "adaptive", "adaptive_simple"})
    if (name == removed)
      throw Error(Code::invalid, "reading the configuration: searcher.name: the '" +
                                     std::string(removed) +
                                     "' searcher has been removed and is not valid for new "
                                     "experiments; take adaptive_asha");
  SearchSettings settings;
  settings.method = named(methods, "name", name);
  settings.metric = searcher.text("metric");
  settings.smaller_is_better = searcher.flag("smaller_is_better", true);
  settings.max_concurrent_trials =
      searcher.whole("max_concurrent_trials", 0, settings.max_concurrent_trials);
  switch (settings.method) {
    case SearchMethod::single:
      settings.max_concurrent_trials = 1;
      [[fallthrough]];
    case SearchMethod::grid:
      if (rules == SearchRules::operations) read_length(searcher, 0, settings);
      break;
    case SearchMethod::random:
      settings.max_trials = searcher.required("max_trials", 1);
      if (rules == SearchRules::operations) read_length(searcher, 0, settings);
      break;
    case SearchMethod::asha:
    case SearchMethod::adaptive_asha:
      read_halving(searcher, rules, settings);
      break;
    case SearchMethod::custom:
      if (rules == SearchRules::metrics)
        refuse("name", name, "another one: where metrics steer the search there is no custom");
      break;
  }
  check_at_once(settings, settings.max_trials);
  return settings;
}

void check_at_once(const SearchSettings &settings, uint64_t trials) {
  const uint64_t most = settings.max_concurrent_trials;
  if ((most == 0 ? trials : std::min(most, trials)) > most_at_once)
    refuse(
        "max_concurrent_trials", most,
        "from 1 to " + std::to_string(most_at_once) + " for " + std::to_string(trials) + " trials");
}

}  // namespace det::search
