// The order in which the calls of a leg should reach the master, and that in which they did: of
// all that waits for the reports before it. Progress, states and lines of log have none.
#pragma once

#include <array>
#include <map>
#include <regex>
#include <string>
#include <utility>

#include "tests/rest/played_scenario.h"

namespace det::master {

inline bool found_in(const std::string &text, const char *pattern) {
  return std::regex_search(text, std::regex(pattern));
}

inline std::string expected_order(const PlayedScenario &scenario, size_t leg) {
  std::string order;
  for (const Json &call : scenario.legs()[leg]["calls"]) {
    std::string name = call[0];
    if (name == "fails") name = call[2][0] == "report" ? "report" : "";
    if (name == "should_preempt") name = "acknowledge";
    else if (name == "acknowledge") name = "";
    if (found_in(name,
                 "^(report|operation|complete|checkpoint.*|early_exit|best_validation|"
                 "delete_checkpoint|acknowledge)$"))
      order += name + " ";
    if (call == Json::array({"operation", nullptr})) order += "acknowledge ";
  }
  return scenario.is_managed() ? order : "state " + order + "state ";
}

// Empty for what has no order.
inline std::string call_of(const std::string &method, const std::string &path) {
  static const std::array<std::pair<const char *, const char *>, 10> calls{{
      {"POST .*/trials/[0-9]+/(training_|validation_)?metrics$", "report"},
      {"GET .*/searcher/operation$", "operation"},
      {"POST .*/searcher/completed_operation$", "complete"},
      {"POST .*/ack_preemption$", "acknowledge"},
      {"POST /api/v1/checkpoints$", "checkpoint"},
      {"GET /api/v1/checkpoints/", "checkpoint_metadata"},
      {"PATCH /api/v1/checkpoints$", "delete_checkpoint"},
      {"POST .*/early_exit$", "early_exit"},
      {"GET .*/best_searcher_validation_metric$", "best_validation"},
      {"PATCH /api/v1/trials/[0-9]+$", "state"},
  }};
  for (const auto &[pattern, call] : calls)
    if (found_in(method + " " + path, pattern)) return call;
  return {};
}

// Requests that the master left unanswered are sent again.
inline std::string order_of_arrivals(const PlayedScenario &scenario, const Json &report,
                                     size_t leg) {
  std::map<int, const Json *> rows;
  for (const Json &row : scenario.rows()) rows[row["n"]] = &row;
  std::string order;
  for (const Json &arrival : report["arrivals"]) {
    if (arrival["n"].is_null()) continue;
    const Json &row = *rows.at(arrival["n"]);
    const std::string call = call_of(arrival["method"], arrival["path"]);
    if (row.value("leg", size_t{0}) == leg && !row.contains("ended") && !call.empty())
      order += call + " ";
  }
  return order;
}

}  // namespace det::master
