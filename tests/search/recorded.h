// Recorded searches (tests/data/search/runs): what they were told, and what they said.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/base/json.h"
#include "tests/search/driver.h"

namespace det::search {

inline Json config_of(const Json &run) {
  return {{"searcher", run.at("searcher")},
          {"hyperparameters", run.at("hyperparameters")},
          {"reproducibility", {{"experiment_seed", run.at("seed")}}}};
}

inline SearchRules rules_of(const Json &run) {
  return run.at("version") == "0.33.0" ? SearchRules::operations : SearchRules::metrics;
}

inline std::string word_of(const Json &op) {
  const std::string kind = op.at("op").get<std::string>();
  if (kind == "shutdown")
    return std::string("end") + (op.at("failure") == true ? " failure" : "") +
           (op.at("cancel") == true ? " cancel" : "");
  const std::string trial = op.at("trial").dump();
  if (kind == "create") return "C" + trial;
  if (kind == "validate_after") return "V" + trial + ":" + op.at("length").dump();
  return (kind == "close" ? "X" : "S") + trial;
}

inline std::string expected_words(const Json &event) {
  std::string words;
  for (const Json &op : event.at("ops")) words += (words.empty() ? "" : " ") + word_of(op);
  return words;
}

// {"float": "NaN"} stands for the number.
inline Json metric_of(const Json &written) {
  if (written.is_object() && written.contains("float"))
    return parse_json(written.at("float").get<std::string>(), "float");
  Json value = written;
  if (value.is_object())
    for (Json &child : value) child = metric_of(child);
  return value;
}

inline std::string tell(Driver &driver, const Json &event) {
  const std::string kind = event.at("event").get<std::string>();
  if (kind == "initial") return driver.initial();
  const size_t trial = event.at("trial").get<size_t>();
  if (kind == "created") return driver.created(trial);
  if (kind == "validation_completed")
    return driver.done(trial, event.at("length").get<uint64_t>(), metric_of(event.at("metric")));
  if (kind == "validation") return driver.report(trial, metric_of(event.at("metrics")));
  if (kind == "exited_early")
    return driver.exit(trial, exit_reason_named(event.at("reason").get<std::string>()));
  if (kind == "closed" || kind == "exited") return driver.closed(trial);
  driver.units(trial,
               (event.contains("units") ? event.at("units") : event.at("fraction")).get<double>());
  return "";
}

inline std::string tell_or_error(Driver &driver, const Json &event) {
  try {
    return tell(driver, event);
  } catch (const Error &e) {
    return e.code == Code::invalid ? "error" : e.what();
  }
}

}  // namespace det::search
