// Answers of masters as answers of ours: keys, values, pages.
#include <set>

#include "core/base/clock.h"
#include "tests/client/replayed.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::client;

std::string keys_of(const Json &object) {
  std::string keys;
  for (const auto &[key, value] : object.items()) keys += (keys.empty() ? "" : " ") + key;
  return keys;
}

void expect_keys(const Json &object, const char *keys) {
  assert_string_equal(keys_of(object).c_str(), keys);
}

struct Recording {
  const char *version;
  int64_t experiment, trial;
  const char *checkpoint;
};
constexpr Recording recordings[] = {
    {"cli-0.38.1", 1, 1, "a6512fc7-9ee9-49f5-bccf-fccf317d25fb"},
    {"cli-0.33.0", 3, 3, "b5142b29-6457-4b67-bafa-fb76943b88a8"},
    {"cli-0.19.10", 8, 15, "e79dd798-ba96-4fa0-b181-4d02031f0440"},
};

// Those of tests/client/test_client.cc.
void answers_have_the_keys_of_a_store(void **) {
  for (const Recording &of : recordings) {
    Replayed master(of.version);
    RestClient &client = master.client();
    const char *experiment =
        "id name state running progress trials trials_done best_metric searcher searcher_metric "
        "start_time end_time notes tags archived";
    expect_keys(client.list_experiments({}).at("experiments").at(0), experiment);
    expect_keys(client.get_experiment(of.experiment),
                (std::string(experiment) + " config error tensorboard").c_str());
    const char *trial =
        "id experiment_id name external_id state running status progress steps_completed "
        "best_metric best_steps runs restarts hparams start_time end_time tags archived";
    expect_keys(client.list_trials(0, {}).at("trials").at(0), trial);
    expect_keys(client.list_trials(of.experiment, {}).at("trials").at(0), trial);
    expect_keys(
        client.get_trial(of.trial),
        (std::string(trial) + " trial_seed task_id early_exit metadata operations "
                              "latest_checkpoint metric_names waiting error supervised resume")
            .c_str());
    expect_keys(client.list_metrics(of.trial, std::nullopt, {}).at("metrics").at(0),
                "group steps_completed trial_run_id rank time metrics batch_metrics");
    const std::string checkpoint =
        "uuid trial_id trial_run_id steps_completed state size time metadata resources pinned";
    expect_keys(client.list_checkpoints(0, {}).at("checkpoints").at(0), checkpoint.c_str());
    expect_keys(client.list_checkpoints(of.trial, {}).at("checkpoints").at(0), checkpoint.c_str());
    expect_keys(client.get_checkpoint(of.checkpoint), (checkpoint + " storage").c_str());
    expect_keys(client.list_logs(of.trial, {}).at("logs").at(0),
                "time level rank trial_run_id text");
    assert_string_equal(client.sync().dump().c_str(), R"({"journals":[],"busy":0})");
  }
}

void a_trial_is_what_the_master_says(void **) {
  Replayed master("cli-0.38.1");
  const Json trial = master.client().get_trial(1);
  assert_equal(trial.at("name"), "s1-single");
  assert_equal(trial.at("state"), "COMPLETED");
  assert_equal(trial.at("status"), "training");
  assert_equal(trial.at("progress"), 1.0);
  assert_equal(trial.at("steps_completed"), 1000);
  assert_equal(trial.at("best_metric"), 0.049999999999999996);
  assert_true(trial.at("runs").is_null() && trial.at("resume").is_null());
  assert_equal(trial.at("start_time"), "2026-11-21T09:34:16.311798+00:00");
  assert_equal(trial.at("latest_checkpoint").at("steps_completed"), 100);
  assert_string_equal(trial.at("metric_names").dump().c_str(),
                      R"({"inference":["bleu"],"training":["acc","loss"],)"
                      R"("validation":["batches","nan","s","val_loss"]})");
  assert_equal(master.client().get_experiment(1).at("best_metric"), trial.at("best_metric"));
}

void an_old_master_names_no_metrics_but_its_reports_do(void **) {
  Replayed master("cli-0.19.10");
  assert_string_equal(master.client().get_trial(15).at("metric_names").dump().c_str(),
                      R"({"training":["loss"],"validation":["val_loss"]})");
}

void a_checkpoint_says_where_it_is(void **) {
  Replayed master("cli-0.38.1");
  const Json checkpoint = master.client().get_checkpoint(recordings[0].checkpoint);
  assert_equal(checkpoint.at("size"), 1060);
  assert_equal(checkpoint.at("trial_run_id"), 1);
  assert_equal(checkpoint.at("resources").at("sub/w.bin"), 1000);
  assert_equal(checkpoint.at("storage").at("type"), "shared_fs");
  for (const char *id : {"00000000-0000-0000-0000-000000000000", "../first", "x", ""})
    assert_true(contains(expect_error(Code::not_found, [&] { master.client().get_checkpoint(id); }),
                         "`det checkpoints` shows"));
  assert_true(checkpoint.at("pinned").is_null());
  assert_true(
      contains(expect_error(Code::unsupported, [&] { master.client().pin_checkpoint("x", true); }),
               "pinning checkpoint x"));
}

void a_checkpoint_shows_no_secret_of_its_storage(void **) {
  const std::string id = "11111111-2222-4333-8444-555555555555";
  const Json storage{{"type", "s3"}, {"bucket", "b"}, {"secret_key", "Xyzzy"}};
  Json shown = storage;
  shown["secret_key"] = "********";
  Replayed master(
      "cli-0.38.1",
      {answered(
          "/api/v1/checkpoints/" + id,
          {{"checkpoint",
            {{"uuid", id},
             {"metadata", {{"steps_completed", 1}}},
             {"training",
              {{"experimentConfig", {{"checkpoint_storage", storage}}}, {"trialId", 1}}}}}})});
  assert_equal(master.client().get_checkpoint(id).at("storage"), shown);
  assert_equal(master.client().find_checkpoint(id).at("storage"), shown);
  assert_equal(master.client().checkpoint_storage(id), storage);
}

void the_best_trial_comes_with_the_checkpoint_of_its_best_step(void **) {
  Replayed master("cli-0.38.1");
  const Json best = best_trial(master.client(), 1);
  assert_equal(best.at("trial").at("best_metric"), 0.049999999999999996);
  assert_equal(best.at("trial").at("best_steps"), 100);
  assert_equal(best.at("checkpoint").at("uuid"), recordings[0].checkpoint);
  assert_equal(best.at("checkpoint").at("steps_completed"), 100);
  assert_true(best.at("checkpoint")
                  .at("directory")
                  .get<std::string>()
                  .ends_with(std::string("/") + recordings[0].checkpoint));
}

void a_master_collects_its_garbage_itself(void **) {
  Replayed master("cli-0.38.1");
  expect_error(Code::unsupported, [&] { master.client().collect_garbage(1, true); });
}

Json experiment(int64_t id, int64_t trials) {
  return {{"id", id},
          {"name", "made"},
          {"state", "STATE_RUNNING"},
          {"numTrials", trials},
          {"config", {{"searcher", {{"metric", "loss"}, {"smaller_is_better", false}}}}}};
}

Json trial(int64_t id, int64_t experiment_id, Json best = nullptr) {
  Json made{{"id", id}, {"experimentId", experiment_id}, {"state", "STATE_QUEUED"}};
  if (!best.is_null())
    made["bestValidation"] = {{"totalBatches", 1}, {"metrics", {{"avgMetrics", {{"loss", best}}}}}};
  return made;
}

Json list_of(const char *name, Json entries) {
  const size_t count = entries.size();
  return {{name, std::move(entries)}, {"pagination", {{"endIndex", count}, {"total", count}}}};
}

// Experiment 1 to 5 with 0, 3, 1, 5 and 0 trials, and 6, which is gone when it is looked at.
std::vector<Json> six_experiments() {
  std::vector<Json> made;
  int64_t id = 0;
  for (const auto &[of, count] :
       std::map<int64_t, int64_t>{{1, 0}, {2, 3}, {3, 1}, {4, 5}, {5, 0}, {6, 2}}) {
    const std::string path = "/api/v1/experiments/" + std::to_string(of);
    made.push_back(answered(path, {{"experiment", experiment(of, count)}}));
    if (of == 6) break;
    Json trials = Json::array();
    Json checkpoints = Json::array();
    for (int64_t i = 0; i < count; ++i) {
      trials.push_back(trial(++id, of, i == 1 ? Json("NaN") : Json(0.5 * static_cast<double>(i))));
      checkpoints.push_back({{"uuid", "u-" + std::to_string(id)},
                             {"reportTime", iso8601(id * 1'000'000)},
                             {"training", {{"trialId", id}}}});
    }
    made.push_back(answered(path + "/trials", list_of("trials", trials)));
    made.push_back(answered(path + "/checkpoints", list_of("checkpoints", checkpoints)));
  }
  made.push_back(
      answered("/api/v1/experiments/3", {{"error", {{"code", 5}}}}, 404));  // of the file
  return made;
}

// What the pages of a list have under `key`, in their order.
template <class List>
std::string walked(const char *key, engine::Page page, const List &list) {
  std::string seen;
  for (int pages = 0; pages < 100; ++pages) {
    const Json answer = list(page);
    const Json &entries = answer.front();
    if (static_cast<int64_t>(entries.size()) > page.limit)
      fail_msg("too long: %zu", entries.size());
    for (const Json &entry : entries) seen += (seen.empty() ? "" : " ") + entry.at(key).dump();
    if (answer.at("next").is_null()) return seen;
    page.after = answer.at("next").get<int64_t>();
  }
  return "never ends";
}

void lists_come_page_by_page_in_both_directions(void **) {
  Replayed master("cli-0.38.1", six_experiments());
  RestClient &client = master.client();
  const auto experiments = [&](const engine::Page &page) { return client.list_experiments(page); };
  const auto trials = [&](const engine::Page &page) { return client.list_trials(0, page); };
  const auto some = [&](const engine::Page &page) { return client.list_trials(4, page); };
  const auto checkpoints = [&](const engine::Page &page) {
    return client.list_checkpoints(0, page);
  };
  for (const int64_t limit : {1, 2, 3, 4, 100}) {
    const auto up = [&](const auto &list) { return walked("id", {0, limit, false}, list); };
    const auto down = [&](const auto &list) { return walked("id", {0, limit, true}, list); };
    assert_string_equal(up(experiments).c_str(), "1 2 3 4 5 6");
    assert_string_equal(down(experiments).c_str(), "6 5 4 3 2 1");
    assert_string_equal(up(trials).c_str(), "1 2 3 4 5 6 7 8 9");
    assert_string_equal(down(trials).c_str(), "9 8 7 6 5 4 3 2 1");
    assert_string_equal(up(some).c_str(), "5 6 7 8 9");
    assert_string_equal(down(some).c_str(), "9 8 7 6 5");
    // Larger is better, and the second is NaN.
    assert_string_equal(walked("id", {0, limit, false, true}, some).c_str(), "9 8 7 5 6");
    assert_string_equal(walked("id", {0, limit, true, true}, some).c_str(), "6 5 7 8 9");
    assert_string_equal(walked("trial_id", {0, limit, true}, checkpoints).c_str(),
                        "9 8 7 6 5 4 3 2 1");
  }
}

void what_people_type_is_found(void **) {
  Replayed master(
      "cli-0.38.1",
      {answered("/api/v1/trials/by-external-id/mine/first", {{"trial", trial(1, 1)}}),
       answered("/api/v1/trials/by-external-id/mine/no", {{"error", {{"code", 2}}}}, 500)});
  RestClient &client = master.client();
  const std::string uuid = recordings[0].checkpoint;
  assert_equal(client.find_checkpoint(uuid.substr(0, 5)).at("uuid"), uuid);
  assert_equal(client.find_checkpoint(uuid), client.get_checkpoint(uuid));
  expect_error(Code::not_found, [&] { client.find_checkpoint("00000"); });
  expect_error(Code::invalid, [&] { client.find_checkpoint("a65"); });
  assert_equal(client.find_trial("1").at("id"), 1);
  assert_equal(client.find_trial("mine/first").at("id"), 1);
  expect_error(Code::not_found, [&] { client.find_trial("mine/no"); });
  expect_error(Code::not_found, [&] { client.find_trial("4711"); });
  expect_error(Code::unsupported, [&] { client.find_trial("first"); });
}

void lists_have_what_matches(void **) {
  std::vector<Json> made = six_experiments();
  const auto change = [&](int64_t id, const char *key, Json value) {
    for (Json &answer : made)
      if (answer.at("path") == "/api/v1/experiments/" + std::to_string(id) &&
          answer.at("status") == 200)
        answer.at("response").at("experiment")[key] = value;
  };
  change(2, "labels", {"good", "mine"});
  change(4, "archived", true);
  change(5, "name", "digits [1]");
  change(5, "state", "STATE_COMPLETED");
  Replayed master("cli-0.38.1", made);
  RestClient &client = master.client();
  const auto seen = [&](const engine::Filter &filter, int64_t limit) {
    engine::Page page{.limit = limit, .filter = filter};
    return walked("id", page, [&](const engine::Page &at) { return client.list_experiments(at); }) +
           " | " +
           walked("id", page, [&](const engine::Page &at) { return client.list_trials(0, at); });
  };
  using engine::Archived;
  for (const int64_t limit : {1, 2, 100}) {
    assert_string_equal(seen({}, limit).c_str(), "1 2 3 5 6 | 1 2 3 4");
    assert_string_equal(seen({.archived = Archived::only}, limit).c_str(), "4 | 5 6 7 8 9");
    assert_string_equal(seen({.archived = Archived::with}, limit).c_str(),
                        "1 2 3 4 5 6 | 1 2 3 4 5 6 7 8 9");
    assert_string_equal(seen({.tag = "mine"}, limit).c_str(), "2 | 1 2 3");
    assert_string_equal(seen({.name = "d*[[]1]"}, limit).c_str(), "5 | ");
    assert_string_equal(seen({.states = {"QUEUED", "COMPLETED"}}, limit).c_str(), "5 | 1 2 3 4");
    assert_string_equal(seen({.running = true}, limit).c_str(), "1 2 3 6 | ");
  }
  // Those of an experiment that is asked for.
  assert_equal(client.list_trials(4, {}).at("trials").size(), 5U);
  assert_equal(client.list_trials(4, {.filter = {.tag = "mine"}}).at("trials").size(), 0U);
  expect_error(Code::invalid, [&] { client.list_checkpoints(0, {.filter = {.tag = "mine"}}); });
}

void the_best_of_an_experiment_is_that_of_its_trials(void **) {
  Replayed master("cli-0.38.1", six_experiments());
  const Json four = master.client().get_experiment(4);
  assert_equal(four.at("best_metric"), 2.0);  // larger is better, and NaN is not
  assert_equal(four.at("trials").size(), 5);
  assert_equal(four.at("trials")[1].at("best_metric"), "NaN");
  assert_equal(four.at("trials")[0].at("state"), "QUEUED");
  assert_equal(four.at("state"), "RUNNING");
  assert_true(master.client().get_experiment(1).at("best_metric").is_null());
}

// A trial with 4 steps of training, 2 of validation and a checkpoint, and two groups of its own.
std::vector<Json> reports() {
  Json trial_1 = trial(1, 1);
  trial_1["summaryMetrics"] = {{"avg_metrics", {{"a", {}}}},
                               {"validation_metrics", {{"b", {}}}},
                               {"zeta", {{"z", {}}}},
                               {"eta", {{"e", {}}}}};
  Json workloads = Json::array();
  for (int step = 1; step <= 4; ++step) {
    const Json report{{"endTime", iso8601(step)},
                      {"totalBatches", step},
                      {"metrics",
                       {{"avgMetrics", {{"a", step}}},
                        {"batchMetrics", step == 1 ? Json{{{"a", 0}}} : Json::array()}}}};
    workloads.push_back({{"training", report}});
    if (step == 3)
      workloads.push_back(
          {{"checkpoint", {{"endTime", iso8601(30)}, {"totalBatches", 3}, {"uuid", "u"}}}});
    if (step % 2 == 0) workloads.push_back({{"validation", report}});
  }
  std::vector<Json> made{answered("/api/v1/trials/1", {{"trial", trial_1}}),
                         answered("/api/v1/trials/1/workloads", list_of("workloads", workloads))};
  const std::string path = "/api/v1/trials/metrics/trial_metrics";
  for (const char *group : {"eta", "zeta"}) {
    std::string body;
    for (int step = 1; step <= 3; ++step)
      body += to_wire({{"result",
                        {{"metrics",
                          {{{"trialId", 1},
                            {"trialRunId", 2},
                            {"totalBatches", step},
                            {"endTime", iso8601(step)},
                            {"archived", step == 2},
                            {"group", group},
                            {"metrics", {{"avg_metrics", {{"e", step}}}}}}}}}}}) +
              "\n";
    made.push_back(answered(path, body));
    made.back()["group"] = group;
  }
  return made;
}

void reports_of_all_groups_come_page_by_page(void **) {
  Replayed master("cli-0.38.1", reports());
  RestClient &client = master.client();
  for (const int64_t limit : {1, 2, 3, 100}) {
    const auto walk = [&](std::optional<std::string> group, bool descending, const char *key) {
      return walked(key, {0, limit, descending},
                    [&](const engine::Page &page) { return client.list_metrics(1, group, page); });
    };
    assert_string_equal(walk(std::nullopt, false, "steps_completed").c_str(),
                        "1 2 2 3 4 4 1 3 1 3");
    assert_string_equal(walk("training", false, "steps_completed").c_str(), "1 2 3 4");
    assert_string_equal(walk("validation", true, "steps_completed").c_str(), "4 2");
    assert_string_equal(walk("zeta", false, "group").c_str(), R"("zeta" "zeta")");
    assert_string_equal(walk("zeta", true, "steps_completed").c_str(), "3 1");
    assert_string_equal(walk("nope", false, "group").c_str(), "");
  }
  const Json first = client.list_metrics(1, "training", {0, 1, false}).at("metrics").at(0);
  assert_string_equal(first.at("metrics").dump().c_str(), R"({"a":1})");
  assert_string_equal(first.at("batch_metrics").dump().c_str(), R"([{"a":0}])");
  assert_true(first.at("trial_run_id").is_null());
  const Json own = client.list_metrics(1, "eta", {}).at("metrics").at(1);
  assert_equal(own.at("trial_run_id"), 2);
  assert_equal(own.at("metrics").at("e"), 3);
  assert_true(own.at("batch_metrics").is_null());
}

void what_the_profiler_measured_is_read_by_series(void **) {
  const auto series = [](const char *name, const char *gpu, const char *type = "SYSTEM") {
    return Json{{"trialId", 1},
                {"name", name},
                {"agentId", "a"},
                {"gpuUuid", gpu},
                {"metricType", std::string("PROFILER_METRIC_TYPE_") + type}};
  };
  const auto batch = [](double value, const char *time) {
    return to_wire(
               {{"result",
                 {{"batch", {{"values", {value}}, {"batches", {}}, {"timestamps", {time}}}}}}}) +
           "\n";
  };
  const char *times[] = {"2026-01-01T00:00:10Z", "2026-01-01T00:00:20.5Z"};
  const Json all{series("cpu_util_simple", ""), series("gpu_util", "GPU-1"),
                 series("gpu_free_memory", "GPU-1"), series("net_throughput_sent", ""),
                 series("cpu_time", "", "TIMING")};
  for (const char *version : {"cli-0.19.10", "cli-0.38.1"}) {
    Replayed master(version, {answered("/api/v1/trials/1", {{"trial", trial(1, 1)}}),
                              answered("/api/v1/trials/1/profiler/available_series",
                                       to_wire({{"result", {{"labels", all}}}}) + "\n"),
                              answered("/api/v1/trials/1/profiler/metrics",
                                       batch(2.5, times[0]) + batch(3.5, times[1]))});
    const Json cpu = master.client().list_metrics(1, "cpu", {}).at("metrics");
    assert_int_equal(cpu.size(), 2);
    assert_equal(cpu[0].at("metrics"), Json({{"a", {{"cpu_util_simple", 2.5}}}}));
    assert_equal(cpu[1].at("metrics"), Json({{"a", {{"cpu_util_simple", 3.5}}}}));
    assert_equal(cpu[0].at("time"), "2026-01-01T00:00:10.000000+00:00");
    assert_true(cpu[0].at("steps_completed").is_null());
    assert_true(cpu[0].at("trial_run_id").is_null());
    const Json gpu = master.client().list_metrics(1, "gpu", {0, 1, true}).at("metrics");
    assert_equal(gpu.at(0).at("metrics"),
                 Json({{"a", {{"GPU-1", {{"gpu_util", 3.5}, {"gpu_free_memory", 3.5}}}}}}));
    assert_int_equal(master.client().list_metrics(1, "disk", {}).at("metrics").size(), 0);
  }
}

std::string line(int64_t id, int64_t seconds, const char *level = "LOG_LEVEL_INFO") {
  return to_wire({{"result",
                   {{"id", std::to_string(id)},
                    {"timestamp", iso8601(1'767'225'600'000'000 + seconds * 1'000'000)},
                    {"level", level},
                    {"log", std::to_string(id) + "\n"}}}}) +
         "\n";
}

std::vector<Json> log_of(const std::string &lines) {
  return {answered("/api/v1/trials/1/logs", lines)};
}

void a_log_comes_page_by_page_in_both_directions(void **) {
  std::string spread, equal, back, up, down;
  for (int64_t id = 11; id <= 35; ++id) {
    const std::string text = "\"" + std::to_string(id) + "\"";
    up += (up.empty() ? "" : " ") + text;
    down = text + (down.empty() ? "" : " ") + down;
    spread += line(id, 100 * id);
    equal += line(id, 0);
    back += line(id, id % 2 == 0 ? id : id - 20);  // of two containers, one of them late
  }
  for (const std::string &lines : {spread, equal, back}) {
    Replayed master("cli-0.38.1", log_of(lines));
    const auto kept = [&](const engine::Page &page) { return master.client().list_logs(1, page); };
    const auto fresh = [&](const engine::Page &page) {
      return master.connect()->list_logs(1, page);
    };
    for (const int64_t limit : {1, 4, 25, 100})
      for (const bool descending : {false, true}) {
        const std::string seen = walked("text", {0, limit, descending}, kept);
        assert_string_equal(seen.c_str(), descending ? down.c_str() : up.c_str());
        if (limit == 4)
          assert_string_equal(walked("text", {0, limit, descending}, fresh).c_str(), seen.c_str());
      }
  }
}

void a_line_has_a_level_a_rank_and_a_text(void **) {
  Replayed master("cli-0.38.1",
                  log_of(line(1, 0, "LOG_LEVEL_TRACE") + line(2, 0, "LOG_LEVEL_WARNING") +
                         line(3, 0, "LOG_LEVEL_CRITICAL") + line(4, 0, "LOG_LEVEL_UNSPECIFIED") +
                         R"({"result":{"id":"5","rankId":3,"message":"[t] c || old\n"}})"
                         "\n"));
  const Json page = master.client().list_logs(1, {});
  const Json &logs = page.at("logs");
  const char *levels[] = {"debug", "warning", "error", "info", "info"};
  for (size_t i = 0; i < 5; ++i) assert_equal(logs.at(i).at("level"), levels[i]);
  assert_equal(logs[0].at("text"), "1");
  assert_true(logs[0].at("rank").is_null());
  assert_equal(logs[4].at("text"), "[t] c || old");
  assert_equal(logs[4].at("rank"), 3);
  assert_true(logs[4].at("time").is_null());
}

void a_log_without_numbers_cannot_be_read_in_parts(void **) {
  for (const char *id : {"AX-12", "", "0", "9999999999999999999999"}) {
    const std::string text = to_wire({{"result", {{"id", id}}}});
    Replayed master("cli-0.38.1", {answered("/api/v1/trials/1/logs", {{"$raw", text}})});
    expect_error(Code::unsupported, [&] { master.client().list_logs(1, {}); });
  }
}

void unknown_ids_are_not_found(void **) {
  Replayed master("cli-0.33.0");
  RestClient &client = master.client();
  const auto gone = [](const auto &action, const char *text) {
    const std::string error = expect_error(Code::not_found, action);
    assert_true(contains(error, text) && contains(error, "http://127.0.0.1"));
  };
  gone([&] { client.get_experiment(4711); }, "no experiment 4711");
  gone([&] { client.list_trials(4711, {}); }, "no experiment 4711");
  gone([&] { client.get_trial(4711); }, "no trial 4711");
  gone([&] { client.list_metrics(4711, std::nullopt, {}); }, "no trial 4711");
  gone([&] { client.list_checkpoints(4711, {}); }, "no trial 4711");
  gone([&] { client.list_logs(4711, {}); }, "no trial 4711");
  gone([&] { client.control(engine::Target::trial, 4711, engine::Action::kill); },
       "killing trial 4711");
  gone([&] { client.control(engine::Target::experiment, 4711, engine::Action::pause); },
       "`det ls -e` shows");
}

}  // namespace

int test_rest_client() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(answers_have_the_keys_of_a_store),
      cmocka_unit_test(a_trial_is_what_the_master_says),
      cmocka_unit_test(an_old_master_names_no_metrics_but_its_reports_do),
      cmocka_unit_test(a_checkpoint_says_where_it_is),
      cmocka_unit_test(lists_come_page_by_page_in_both_directions),
      cmocka_unit_test(lists_have_what_matches),
      cmocka_unit_test(the_best_of_an_experiment_is_that_of_its_trials),
      cmocka_unit_test(what_people_type_is_found),
      cmocka_unit_test(a_checkpoint_shows_no_secret_of_its_storage),
      cmocka_unit_test(what_the_profiler_measured_is_read_by_series),
      cmocka_unit_test(the_best_trial_comes_with_the_checkpoint_of_its_best_step),
      cmocka_unit_test(a_master_collects_its_garbage_itself),
      cmocka_unit_test(reports_of_all_groups_come_page_by_page),
      cmocka_unit_test(a_log_comes_page_by_page_in_both_directions),
      cmocka_unit_test(a_line_has_a_level_a_rank_and_a_text),
      cmocka_unit_test(a_log_without_numbers_cannot_be_read_in_parts),
      cmocka_unit_test(unknown_ids_are_not_found),
  };
  return cmocka_run_group_tests_name("rest_client", tests, nullptr, nullptr);
}
