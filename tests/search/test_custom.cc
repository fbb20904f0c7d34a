// The search whose decisions come from outside.
#include "core/search/custom.h"

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/search/driver.h"

namespace det::search {

namespace {

const std::string first = "11111111-1111-4111-8111-111111111111";

Json queue_of(const CustomSearch &search) {
  Json events = Json::array();
  for (const Json &event : search.queue()) events.push_back(Json::parse(event.dump()));
  return events;
}

// Objects are equal whatever the order of their names.
bool is_same(const Json &left, const Json &right) {
  return nlohmann::json::parse(left.dump()) == nlohmann::json::parse(right.dump());
}

Json as_recorded(const Decision &decision) {
  if (const auto *create = std::get_if<CreateTrial>(&decision))
    return {{"op", "create"},
            {"request_id", create->request_id},
            {"trial_seed", create->trial_seed},
            {"hparams", create->hparams}};
  if (const auto *validate = std::get_if<ValidateAfter>(&decision))
    return {{"op", "validate_after"},
            {"request_id", validate->request_id},
            {"length", validate->length}};
  if (const auto *close = std::get_if<CloseTrial>(&decision))
    return {{"op", "close"}, {"request_id", close->request_id}};
  if (const auto *set = std::get_if<SetProgress>(&decision))
    return {{"op", "set_searcher_progress"}, {"progress", set->progress}};
  const auto &shutdown = std::get<Shutdown>(decision);
  return {{"op", "shutdown"}, {"cancel", shutdown.cancel}, {"failure", shutdown.failure}};
}

void post(CustomSearch &search, const Json &step) {
  std::vector<std::string> refused;
  const Decisions decisions = read_operations(step.at("operations"), refused);
  Json accepted = Json::array();
  size_t refusals = 0;
  for (Json parsed : step.at("parsed")) {
    const bool good = parsed.at("accepted") == true;
    refusals += good ? 0 : 1;
    parsed.erase("accepted");
    if (good) accepted.push_back(parsed);
  }
  assert_int_equal(refused.size(), refusals);
  assert_int_equal(decisions.size(), accepted.size());
  for (size_t i = 0; i < decisions.size(); ++i)
    assert_true(is_same(as_recorded(decisions[i]), accepted[i]));
  const auto event = step.at("triggered_by").get<int64_t>();
  if (step.contains("error"))
    assert_true(contains(expect_error(Code::not_found, [&] { search.post(event, decisions); }),
                         step.at("error").get<std::string>()));
  else search.post(event, decisions);
}

void do_step(std::unique_ptr<Search> &search, const Json &config, const Json &step) {
  const std::string kind = step.at("do").get<std::string>();
  const std::string id = step.value("request_id", "");
  Decisions decisions;
  if (kind == "initial") decisions = search->initial();
  if (kind == "post") post(dynamic_cast<CustomSearch &>(*search), step);
  if (kind == "created") decisions = search->created(id);
  if (kind == "units") search->trial_progress(id, step.at("units").get<double>());
  if (kind == "validation_completed")
    decisions =
        search->validation_completed(id, step.at("length").get<uint64_t>(), step.at("metric"));
  if (kind == "exited_early")
    decisions = search->exited_early(id, exit_reason_named(step.at("reason").get<std::string>()));
  if (kind == "closed") decisions = search->closed(id);
  if (kind == "restore") {
    const Json state = search->snapshot();
    search = make_search(config, SearchRules::operations);
    search->restore(state);
    assert_string_equal(search->snapshot().dump().c_str(), state.dump().c_str());
  }
  assert_int_equal(decisions.size(), 0);
}

void events_and_operations_are_those_of_the_platform(void **) {
  for (const char *name : {"custom-errors", "custom-exit-reasons", "custom-round-trip"}) {
    const Json run = read_vectors(std::string("runs/") + name + ".json");
    const Json config{{"searcher", run.at("searcher")}};
    auto search = make_search(config, SearchRules::operations);
    for (const Json &step : run.at("log")) {
      do_step(search, config, step);
      const auto &custom = dynamic_cast<CustomSearch &>(*search);
      if (!is_same(queue_of(custom), step.at("queue")))
        fail_msg("%s: after %s the queue is %s", name, step.dump().c_str(),
                 queue_of(custom).dump().c_str());
      assert_equal(search->progress(), step.at("progress").get<double>());
      assert_equal(search->snapshot().at("trials_requested"), step.at("trials_requested"));
    }
  }
}

void posts_acknowledge_all_events_up_to_theirs(void **) {
  CustomSearch search(0);
  search.initial();
  search.created(first);
  search.created(first);
  assert_int_equal(search.queue().front().at("id").get<int>(), 1);
  search.post(2, {});
  assert_int_equal(search.queue().size(), 1);
  assert_int_equal(search.queue().front().at("id").get<int>(), 3);
  expect_error(Code::not_found, [&] { search.post(2, {}); });
  expect_error(Code::not_found, [&] { search.post(4, {}); });
}

void nothing_is_decided_that_was_not_posted(void **) {
  CustomSearch search(0);
  search.initial();
  search.post(1, {CreateTrial{first, CustomSearch::trial_seed, Json::object()}});
  search.created(first);
  assert_int_equal(search.exited_early(first, ExitReason::errored).size(), 0);
  assert_int_equal(search.closed(first).size(), 0);
}

void invalid_hyperparameters_have_one_name_on_the_wire(void **) {
  CustomSearch search(0);
  search.exited_early(first, exit_reason_named("INIT_INVALID_HP"));
  assert_equal(search.queue().front().at("trialExitedEarly").at("exitedReason"),
               "EXITED_REASON_INVALID_HP");
}

void operations_that_cannot_be_read_are_left_out_and_told(void **) {
  const char *bad[] = {
      "7",
      "{}",
      "[]",
      R"({"a": {}, "b": {}})",
      R"({"createTrial": 1})",
      R"({"createTrial": {}})",
      R"({"createTrial": {"requestId": "11111111-1111-4111-8111-111111111111"}})",
      R"({"createTrial": {"requestId": "11111111-1111-4111-8111-111111111111", "hyperparams": "[1]"}})",
      R"({"createTrial": {"requestId": "11111111-1111-4111-8111-11111111111g", "hyperparams": "{}"}})",
      R"({"trialOperation": {}})",
      R"({"trialOperation": {"validateAfter": 3}})",
      R"({"trialOperation": {"validateAfter": {"requestId": "11111111-1111-4111-8111-111111111111", "length": "-1"}}})",
      R"({"trialOperation": {"validateAfter": {"requestId": "11111111-1111-4111-8111-111111111111", "length": "1x"}}})",
      R"({"trialOperation": {"validateAfter": {"requestId": "11111111-1111-4111-8111-111111111111"}}})",
      R"({"closeTrial": {"requestId": 5}})",
      R"({"shutDown": {"cancel": "yes"}})",
      R"({"setSearcherProgress": {"progress": "0.5"}})",
      R"({"dance": {}})"};
  Json operations = Json::array();
  for (const char *text : bad) operations.push_back(Json::parse(text));
  operations.push_back({{"closeTrial", {{"requestId", first}}}});
  std::vector<std::string> refused;
  assert_int_equal(read_operations(operations, refused).size(), 1);
  assert_int_equal(refused.size(), operations.size() - 1);
  assert_int_equal(read_operations(Json("text"), refused).size(), 0);
}

void same_decision_twice_is_an_error(void **) {
  CustomSearch search(0);
  search.validation_completed(first, 10, 0.5);
  expect_error(Code::invalid, [&] { search.validation_completed(first, 10, 0.5); });
}

}  // namespace

}  // namespace det::search

int test_custom() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(events_and_operations_are_those_of_the_platform),
      cmocka_unit_test(posts_acknowledge_all_events_up_to_theirs),
      cmocka_unit_test(nothing_is_decided_that_was_not_posted),
      cmocka_unit_test(invalid_hyperparameters_have_one_name_on_the_wire),
      cmocka_unit_test(operations_that_cannot_be_read_are_left_out_and_told),
      cmocka_unit_test(same_decision_twice_is_an_error),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
