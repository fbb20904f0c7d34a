// Every recorded scenario, played through the public API: what reaches the master is what reached
// the recorded one, in the order that matters. test_replay_scenarios FOLDER...: of those versions.
#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

#include "tests/rest/played_scenario.h"

namespace {

using namespace det;

// What may be, or is, other than recorded; the patterns are found anywhere in their texts.
struct Difference {
  const char *kind;      // the master's name for it
  const char *scenario;  // "" for all
  const char *request;   // "METHOD path"
  bool always;           // it is so in each of these scenarios
  const char *reason;
};

const std::array differences{
    Difference{"missing", "spurious_ack", "POST .*/ack_preemption$", true,
               "acknowledges nothing that is not pending: the master would start the trial again "
               "and again"},
    Difference{"missing", "s1_single|0.38.1/unmanaged_plain", "(POST|GET) .*/runs/[0-9]+/metadata$",
               true, "cannot be said in the C API: it has no metadata of runs"},
    Difference{"missing", "searcher_404", "GET .*/searcher/operation$", true,
               "makes the one operation of an unmanaged trial itself, for which masters have none"},
    Difference{
        "out_of_order", "", "POST .*/(training_)?metrics$", false,
        "sends several reports at once; a master goes by their steps, and those of the group "
        "validation wait for each other"},
};

bool found_in(const std::string &text, const char *pattern) {
  return std::regex_search(text, std::regex(pattern));
}

// What nobody expects fails the test, and so does a difference that is no more.
void check_differences(const std::string &scenario, const Json &report) {
  std::string wrong;
  std::set<const Difference *> seen;
  for (const char *kind : {"missing", "unexpected", "different", "out_of_order"})
    for (const Json &item : report[kind]) {
      const std::string request =
          item["method"].get<std::string>() + " " + item["path"].get<std::string>();
      const auto known =
          std::find_if(differences.begin(), differences.end(), [&](const Difference &difference) {
            const bool is_validation =
                item["body"].is_object() && item["body"].value("group", "") == "validation";
            return std::string(difference.kind) == kind &&
                   found_in(scenario, difference.scenario) &&
                   found_in(request, difference.request) && !is_validation;
          });
      if (known != differences.end()) seen.insert(&*known);
      else wrong += std::string(kind) + ": " + item.dump() + "\n";
    }
  for (const Difference &difference : differences)
    if (difference.always && found_in(scenario, difference.scenario) && !seen.contains(&difference))
      wrong += std::string("no more: ") + difference.reason + "\n";
  if (!wrong.empty()) fail_msg("%s", wrong.c_str());
}

// What has an order, of what one leg does: all that waits for the reports before it.
std::optional<std::string> ordered_call(const std::string &name) {
  static const std::set<std::string> ordered{"report",          "operation",           "complete",
                                             "checkpoint",      "checkpoint_metadata", "early_exit",
                                             "best_validation", "delete_checkpoint"};
  if (!ordered.contains(name)) return std::nullopt;
  return name;
}

std::vector<std::string> expected_order(const Json &leg, bool managed) {
  std::vector<std::string> order;
  if (!managed) order.push_back("state");
  for (const Json &call : leg["calls"]) {
    std::string name = call[0];
    if (name == "fails" && call[2][0] == "report") name = "report";
    if (ordered_call(name)) order.push_back(name);
  }
  if (!managed) order.push_back("state");
  return order;
}

std::optional<std::string> ordered_request(const std::string &request) {
  static const std::array<std::pair<const char *, const char *>, 9> kinds{{
      {"POST .*/trials/[0-9]+/(training_|validation_)?metrics$", "report"},
      {"GET .*/searcher/operation$", "operation"},
      {"POST .*/searcher/completed_operation$", "complete"},
      {"POST /api/v1/checkpoints$", "checkpoint"},
      {"GET /api/v1/checkpoints/", "checkpoint_metadata"},
      {"POST .*/early_exit$", "early_exit"},
      {"GET .*/best_searcher_validation_metric$", "best_validation"},
      {"PATCH /api/v1/checkpoints$", "delete_checkpoint"},
      {"PATCH /api/v1/trials/[0-9]+$", "state"},
  }};
  for (const auto &[pattern, kind] : kinds)
    if (found_in(request, pattern)) return kind;
  return std::nullopt;
}

// Requests that the master left unanswered are sent again.
std::vector<std::string> order_of_arrivals(const PlayedScenario &scenario, const Json &report,
                                           size_t leg) {
  std::map<int, const Json *> rows;
  for (const Json &row : scenario.rows()) rows[row["n"]] = &row;
  std::vector<std::string> order;
  for (const Json &arrival : report["arrivals"]) {
    if (arrival["n"].is_null()) continue;
    const Json &row = *rows.at(arrival["n"]);
    if (row.value("leg", size_t{0}) != leg || row.contains("ended")) continue;
    const std::string request =
        arrival["method"].get<std::string>() + " " + arrival["path"].get<std::string>();
    if (const auto kind = ordered_request(request)) order.push_back(*kind);
  }
  return order;
}

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names) text += name + " ";
  return text;
}

void check_order(const PlayedScenario &scenario, const Json &report) {
  const Json &legs = scenario.script()["legs"];
  for (size_t leg = 0; leg < legs.size(); ++leg)
    assert_string_equal(joined(order_of_arrivals(scenario, report, leg)).c_str(),
                        joined(expected_order(legs[leg], scenario.script()["managed"])).c_str());
}

// One header with a token, of the right kind; each process asks once which version it talks to.
void check_manners(const PlayedScenario &scenario, const Json &report) {
  const bool managed = scenario.script()["managed"];
  for (const auto &[kinds, count] : report["auth"].items())
    if (kinds != "none" && kinds != (managed ? "allocation" : "bearer"))
      fail_msg("%s requests had the token in: %s", count.dump().c_str(), kinds.c_str());
  int processes = 0;
  bool logs = false;
  for (const Json &leg : scenario.script()["legs"]) {
    processes += leg["ranks"].get<int>();
    for (const Json &call : leg["calls"]) logs = logs || call[0] == "log";
  }
  assert_int_equal(report["optional"].value("GET /api/v1/master", 0), processes);
  assert_int_equal(report["logs"].size(), logs ? 1 : 0);
}

void reaches_the_master_as_recorded(void **state) {
  const std::string name = static_cast<const char *>(*state);
  PlayedScenario scenario(name);
  const Json report = scenario.play();
  check_differences(name, report);
  check_order(scenario, report);
  check_manners(scenario, report);
}

std::vector<std::string> scenarios_of(const std::string &folder) {
  const std::string suffix = ".script.json";
  std::vector<std::string> names;
  for (const auto &entry :
       std::filesystem::directory_iterator(rest_script("../data/wire/" + folder)))
    if (const std::string file = entry.path().filename(); file.ends_with(suffix))
      names.push_back(folder + "/" + file.substr(0, file.size() - suffix.size()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

int main(int count, char **folders) {
  std::vector<std::string> names;
  for (int i = 1; i < count; ++i)
    for (std::string &name : scenarios_of(folders[i])) names.push_back(std::move(name));
  std::vector<CMUnitTest> tests;
  for (std::string &name : names)
    tests.push_back({name.c_str(), reaches_the_master_as_recorded, nullptr, nullptr, name.data()});
  return _cmocka_run_group_tests("replay", tests.data(), tests.size(), nullptr, nullptr);
}
