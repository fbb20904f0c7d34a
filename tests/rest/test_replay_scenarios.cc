// Every recorded scenario, played through the public API: what reaches the master is what reached
// the recorded one, in the order that matters. test_replay_scenarios FOLDER...: of those versions.
#include <algorithm>
#include <array>
#include <set>

#include "tests/rest/call_order.h"
#include "tests/rest/played_scenario.h"

namespace {

using namespace det;
using namespace det::master;

// What may be, or is, other than recorded; the patterns are found anywhere in their texts.
struct Difference {
  const char *kind;      // the master's name for it
  const char *scenario;  // "" for all
  const char *request;   // "METHOD path", and for metrics " of GROUP"
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
        "out_of_order", "", "POST .*/(training_metrics|metrics of (?!validation))", false,
        "sends several reports at once; a master goes by their steps, and those of the group "
        "validation wait for each other"},
};

std::string request_of(const Json &item) {
  const Json body = item.value("body", Json());
  const std::string group = body.is_object() ? body.value("group", "") : "";
  return item["method"].get<std::string>() + " " + item["path"].get<std::string>() +
         (group.empty() ? "" : " of " + group);
}

// What nobody expects fails the test, and so does a difference that is no more.
void check_differences(const std::string &scenario, const Json &report) {
  std::string wrong;
  std::set<const Difference *> seen;
  for (const char *kind : {"missing", "unexpected", "different", "out_of_order"})
    for (const Json &item : report[kind]) {
      const std::string request = request_of(item);
      const auto known =
          std::find_if(differences.begin(), differences.end(), [&](const Difference &difference) {
            return std::string(difference.kind) == kind &&
                   found_in(scenario, difference.scenario) && found_in(request, difference.request);
          });
      if (known != differences.end()) seen.insert(&*known);
      else wrong += std::string(kind) + ": " + item.dump() + "\n";
    }
  for (const Difference &difference : differences)
    if (difference.always && found_in(scenario, difference.scenario) && !seen.contains(&difference))
      wrong += std::string("no more: ") + difference.reason + "\n";
  if (!wrong.empty()) fail_msg("%s", wrong.c_str());
}

void check_order(const PlayedScenario &scenario, const Json &report) {
  for (size_t leg = 0; leg < scenario.legs().size(); ++leg)
    assert_string_equal(order_of_arrivals(scenario, report, leg).c_str(),
                        expected_order(scenario, leg).c_str());
  if (scenario.is_managed()) return;
  const Json &last = report["arrivals"].back();
  assert_string_equal(call_of(last["method"], last["path"]).c_str(), "state");
}

// One header with a token, of the right kind; each process asks once which version it talks to.
void check_manners(const PlayedScenario &scenario, const Json &report) {
  const char *token = scenario.is_managed() ? "allocation" : "bearer";
  for (const auto &[kinds, count] : report["auth"].items())
    if (kinds != "none" && kinds != token)
      fail_msg("%s requests had the token in: %s", count.dump().c_str(), kinds.c_str());
  int processes = 0;
  bool logs = false;
  for (const Json &leg : scenario.legs()) {
    processes += leg["ranks"].get<int>();
    for (const Json &call : leg["calls"]) logs = logs || call[0] == "log";
  }
  assert_int_equal(report["optional"].value("GET /api/v1/master", 0), processes);
  assert_int_equal(report["logs"].size(), logs ? 1 : 0);
}

void reaches_the_master_as_recorded(void **state) {
  const std::string name = static_cast<const char *>(*state);
  const PlayedScenario scenario(name);
  const Json report = scenario.play();
  check_differences(name, report);
  check_order(scenario, report);
  check_manners(scenario, report);
}

std::vector<std::string> scenarios_of(const std::string &folder) {
  const std::string suffix = ".script.json";
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(TEST_DATA "/wire/" + folder))
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
