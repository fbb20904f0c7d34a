#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "core/client/embedded_client.h"
#include "core/engine/runs/report_writer.h"
#include "core/engine/store.h"
#include "tests/cmocka.h"
#include "tests/engine/home.h"
#include "tests/temporary_directory.h"

namespace det::test {
namespace {

engine::CheckpointReport checkpoint(const std::string &id, int64_t steps) {
  return {id, Json{{"steps_completed", steps}}, {{"weights", 100}}, Json{{"type", "directory"}}};
}

std::string keys_of(const Json &object) {
  std::string keys;
  for (const auto &[key, value] : object.items()) keys += (keys.empty() ? "" : " ") + key;
  return keys;
}

// A trial that was paused once and then completed, with something of everything.
void fill(const Home &home) {
  auto run = home.start(Json{{"searcher", {{"metric", "loss"}, {"max_length", 20}}},
                             {"hyperparameters", {{"lr", 0.5}}}});
  Report line;
  line.kind = ReportKind::log;
  line.sequence = 3;
  line.level = 2;
  line.text = "careful";
  deliver(*run, {metrics(1, "training", 10, {{"loss", 1}}),
                 metrics_json(2, "validation", 10, R"({"loss": NaN})", R"([{"b": 1}])"), line});
  run->checkpoints().report(checkpoint("first", 10));
  run->preemption().note("SIGTERM");
  run->preemption().acknowledge();
  run->end_run(engine::RunEnd::ok);
  run = home.resume(1);
  deliver(*run, {metrics(1, "training", 20, {{"loss", 0.5}, {"lr", 1}}),
                 metrics(2, "validation", 20, {{"loss", 0.25}})});
  run->checkpoints().report(checkpoint("second", 20));
  run->operations().complete(20, 0.25);
  run->end_run(engine::RunEnd::ok);
}

void a_store_that_is_not_there_is_not_found(void **) {
  const Home home;
  std::string message;
  assert_int_equal(static_cast<int>(code_of([&] { client::open_client(home.path()); }, &message)),
                   static_cast<int>(Code::not_found));
  assert_true(contains(message, "no store at"));
}

void an_empty_store_has_empty_lists(void **) {
  const Home home;
  engine::open_store(home.store(), true, {});
  const auto client = client::open_client(home.path());
  assert_string_equal(to_wire(client->list_experiments({})).c_str(),
                      R"({"experiments":[],"next":null})");
  assert_string_equal(to_wire(client->list_trials(0, {})).c_str(), R"({"trials":[],"next":null})");
  assert_string_equal(to_wire(client->list_checkpoints(0, {})).c_str(),
                      R"({"checkpoints":[],"next":null})");
  assert_string_equal(to_wire(client->sync()).c_str(), R"({"journals":[],"busy":0})");
}

void experiments_are_listed_and_shown(void **) {
  const Home home;
  fill(home);
  const auto client = client::open_client(home.path());
  const Json entry = client->list_experiments({}).at("experiments").at(0);
  assert_string_equal(keys_of(entry).c_str(),
                      "id name state running progress trials trials_done best_metric searcher "
                      "searcher_metric start_time end_time notes tags archived");
  assert_equal(entry.at("trials_done"), 1);
  assert_true(entry.at("searcher").is_null());
  assert_equal(entry.at("searcher_metric"), "loss");
  assert_string_equal(entry.at("state").get<std::string>().c_str(), "COMPLETED");
  assert_equal(entry.at("best_metric"), 0.25);
  assert_equal(entry.at("progress"), 1.0);
  const Json experiment = client->get_experiment(1);
  assert_string_equal(experiment.at("config").at("searcher").dump().c_str(),
                      R"({"metric":"loss","max_length":20})");
  assert_int_equal(experiment.at("trials").size(), 1);
}

void a_trial_is_shown_with_all_there_is(void **) {
  const Home home;
  fill(home);
  const auto client = client::open_client(home.path());
  const Json entry = client->list_trials(1, {}).at("trials").at(0);
  assert_string_equal(keys_of(entry).c_str(),
                      "id experiment_id name external_id state running status progress "
                      "steps_completed best_metric best_steps runs last_exit restarts hparams "
                      "start_time end_time tags archived");
  assert_equal(entry.at("steps_completed"), 20);
  assert_equal(entry.at("runs"), 2);
  assert_equal(entry.at("best_metric"), 0.25);
  assert_equal(entry.at("best_steps"), 20);
  const Json trial = client->get_trial(1);
  assert_string_equal(trial.at("hparams").dump().c_str(), R"({"lr":0.5})");
  assert_int_equal(trial.at("runs").size(), 2);
  assert_equal(trial.at("runs")[0].at("exit"), "preempted");
  assert_equal(trial.at("runs")[1].at("state"), "ended");
  assert_equal(trial.at("operations")[0].at("completed"), true);
  assert_equal(trial.at("operations")[0].at("metric"), 0.25);
  assert_equal(trial.at("latest_checkpoint").at("uuid"), "second");
  assert_string_equal(trial.at("metric_names").dump().c_str(),
                      R"({"training":["loss","lr"],"validation":["loss"]})");
  assert_equal(trial.at("waiting"), 0);
  assert_string_equal(
      trial.at("resume").get<std::string>().c_str(),
      ("DET_TRIAL_ID=1 DET_HOME=" + home.path().string() + " ./digits --fast").c_str());
}

void a_run_is_running_as_long_as_its_process(void **) {
  const Home home;
  const auto run = home.start();
  const auto client = client::open_client(home.path());
  assert_equal(client->get_trial(1).at("runs")[0].at("state"), "running");
  assert_equal(client->get_trial(1).at("running"), true);
}

void a_deletion_takes_what_lies_in_files_as_well(void **) {
  const Home home;
  const pid_t child = fork();
  if (child == 0) {
    const auto run = home.start();
    std::ofstream(home.store() / "runs/1.1/left.spool") << "reports";
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  home.start();  // 2
  const auto cluster = home.text("SELECT value FROM meta WHERE key='cluster_id'");
  const auto tensorboards = home.path() / cluster / "tensorboard/experiment";
  for (const char *id : {"1", "2"})
    std::filesystem::create_directories(tensorboards / id / "trial");
  const auto client = client::open_client(home.path());
  assert_code(Code::state, client->delete_experiment(1));
  client->control(engine::Target::experiment, 1, engine::Action::cancel);
  assert_equal(client->delete_experiment(1).at("state"), "DELETED");
  assert_false(std::filesystem::exists(home.store() / "runs/1.1"));
  assert_false(std::filesystem::exists(tensorboards / "1"));
  assert_true(std::filesystem::exists(tensorboards / "2"));
  assert_string_equal(to_wire(client->sync().at("journals")).c_str(), "[]");
}

// Those of the other store are under its id.
void a_copied_store_has_the_tensorboard_files_of_both(void **) {
  namespace fs = std::filesystem;
  const Home home;
  const TemporaryDirectory outside, elsewhere;
  const fs::path copy = elsewhere / "copy";
  const auto stored_in = [](const fs::path &directory) {
    return Json{{"checkpoint_storage", {{"type", "shared_fs"}, {"host_path", directory.string()}}}};
  };
  home.start(stored_in(outside.path()))->end_run(engine::RunEnd::ok);
  home.start(stored_in(home.path()))->end_run(engine::RunEnd::ok);
  const auto id_of = [](const fs::path &store) { return engine::read_cluster_id(store); };
  const auto files_in = [](const fs::path &base, const std::string &id, const char *experiment) {
    return base / id / "tensorboard/experiment" / experiment;
  };
  const std::string others = id_of(home.store());
  for (const fs::path &base : {outside.path(), fs::path(home.path())})
    for (const char *experiment : {"1", "2"}) {
      fs::create_directories(files_in(base, others, experiment) / "trial");
    }
  fs::copy(home.path(), copy, fs::copy_options::recursive);
  const auto client = client::open_client(copy.string());
  const std::string own = id_of(copy / ".detcore");
  assert_true(own != others);
  const auto places = client->get_experiment(1).at("tensorboard").get<std::vector<std::string>>();
  for (const auto &[base, id] :
       {std::pair(outside.path(), own), {outside.path(), others}, {copy, own}, {copy, others}})
    assert_true(std::ranges::count(places, files_in(base, id, "1").string()) == 1);
  for (const char *experiment : {"1", "2"}) {
    fs::create_directories(files_in(outside.path(), own, experiment) / "trial");
    fs::create_directories(files_in(copy, own, experiment) / "trial");
  }

  for (const int experiment : {1, 2})
    client->control(engine::Target::experiment, experiment, engine::Action::cancel);
  assert_code(Code::state, client->delete_experiment(1));
  // Of the copy's own run, whose checkpoint is nobody else's.
  engine::Database store = engine::open_store(copy / ".detcore", false, {});
  store.run(
      "INSERT INTO checkpoints (uuid, trial_id, run_id, steps, state, size, time, metadata,"
      " resources, storage) VALUES ('new', 2, 1, 1, 'COMPLETED', 0, 0, '{}', '{}', ?)",
      to_wire(stored_in(outside.path()).at("checkpoint_storage")));
  assert_equal(client->delete_experiment(2).at("state"), "DELETED");
  assert_false(fs::exists(files_in(copy, others, "2")) || fs::exists(files_in(copy, own, "2")));
  assert_false(fs::exists(files_in(outside.path(), own, "2")));
  for (const char *experiment : {"1", "2"}) {
    assert_true(fs::exists(files_in(outside.path(), others, experiment)));
    assert_true(fs::exists(files_in(home.path(), others, experiment)));
  }
}

void an_experiment_that_says_only_how_many_stay_is_deleted(void **) {
  const Home home;
  home.start(Json{{"checkpoint_storage", {{"save_trial_latest", 2}}}})->end_run(engine::RunEnd::ok);
  const auto client = client::open_client(home.path());
  client->control(engine::Target::experiment, 1, engine::Action::cancel);
  assert_equal(client->delete_experiment(1).at("state"), "DELETED");
}

void a_deletion_that_fails_says_what_to_do(void **) {
  const Home home;
  {
    const auto run = home.start();
    engine::CheckpointReport report = checkpoint("first", 1);
    report.storage = {{"type", "shared_fs"}, {"host_path", "/nowhere/at/all"}};
    run->checkpoints().report(report);
    run->end_run(engine::RunEnd::ok);
  }
  const auto client = client::open_client(home.path());
  std::string message;
  assert_int_equal(static_cast<int>(code_of([&] { client->delete_experiment(1); }, &message)),
                   static_cast<int>(Code::not_found));
  assert_true(contains(message, "deleting experiment 1") && contains(message, "/nowhere/at/all") &&
              contains(message, "delete it again"));
  assert_equal(client->describe_experiment(1).at("state"), "DELETE_FAILED");
}

void the_names_of_metrics_are_those_of_all_reports(void **) {
  const Home home;
  {
    auto run = home.start();
    std::vector<Report> reports;
    for (int64_t step = 1; step <= 1000; ++step)
      reports.push_back(metrics(static_cast<uint64_t>(step), "training", step,
                                {{step == 500 ? "rare" : "loss", 1}}));
    reports.push_back(metrics_json(1001, "wörter", 1, R"({"b": {"c": 1}, "a": [1]})"));
    deliver(*run, reports);
  }
  const auto client = client::open_client(home.path());
  assert_string_equal(client->list_metric_names(1).dump().c_str(),
                      R"({"training":["loss","rare"],"wörter":["b.c","a"]})");
  assert_code(Code::not_found, client->list_metric_names(9));
}

void a_page_of_long_reports_has_fewer(void **) {
  const Home home;
  {
    const auto run = home.start();
    const std::string batches =
        R"([{"note":")" + std::string((3 << 20) - 20, 'x') + R"("}])";  // a page takes 4 MiB
    for (uint64_t i = 1; i <= 5; ++i)
      deliver(*run, {metrics_json(i, "training", static_cast<int64_t>(i), R"({"l": 1})", batches)});
  }
  const auto client = client::open_client(home.path());
  std::string sizes;
  engine::Page page;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const Json part = client->list_metrics(1, std::nullopt, page);
    sizes += std::to_string(part.at("metrics").size()) + " ";
    next = part.at("next");
  }
  assert_string_equal(sizes.c_str(), "2 2 1 ");
}

// Whatever else wrote to the store: answers are JSON.
void a_stored_report_that_is_no_json_is_told(void **) {
  const Home home;
  {
    const auto run = home.start();
    deliver(*run,
            {metrics(1, "training", 1, {{"loss", 1}}), metrics(2, "training", 2, {{"l", 1}})});
  }
  engine::Database store = engine::open_store(home.store(), false, {});
  const auto client = client::open_client(home.path());
  store.run("UPDATE metrics SET metrics='{\"loss\": NaN }' WHERE steps=1");
  assert_equal(client->list_metrics(1, std::nullopt, {}).at("metrics")[0].at("metrics").at("loss"),
               "NaN");
  assert_string_equal(client->list_metric_names(1).dump().c_str(), R"({"training":["loss","l"]})");
  for (const char *stored : {"'{\"loss\":'", "'{\"loss\":\"' || x'ff' || '\"}'"}) {
    store.run(std::string("UPDATE metrics SET metrics=") + stored + " WHERE steps=1");
    assert_code(Code::corrupt, client->list_metrics(1, std::nullopt, {}));
  }
}

void reports_are_listed_in_order_by_group_and_page(void **) {
  const Home home;
  fill(home);
  const auto client = client::open_client(home.path());
  const Json all = client->list_metrics(1, std::nullopt, {});
  assert_int_equal(all.at("metrics").size(), 4);
  assert_true(all.at("next").is_null());
  const Json first = all.at("metrics")[1];
  assert_string_equal(keys_of(first).c_str(),
                      "group steps_completed trial_run_id rank time metrics batch_metrics");
  assert_string_equal(first.at("metrics").dump().c_str(), R"({"loss":"NaN"})");
  assert_string_equal(first.at("batch_metrics").dump().c_str(), R"([{"b":1}])");

  assert_int_equal(client->list_metrics(1, "training", {}).at("metrics").size(), 2);
  engine::Page page;
  page.limit = 3;
  const Json part = client->list_metrics(1, std::nullopt, page);
  assert_int_equal(part.at("metrics").size(), 3);
  page.after = part.at("next").get<int64_t>();
  const Json rest = client->list_metrics(1, std::nullopt, page);
  assert_int_equal(rest.at("metrics").size(), 1);
  assert_true(rest.at("next").is_null());
  page = {0, 1, true};
  assert_equal(client->list_metrics(1, std::nullopt, page).at("metrics")[0].at("steps_completed"),
               20);
}

void checkpoints_are_listed_newest_first_and_shown(void **) {
  const Home home;
  fill(home);
  const auto client = client::open_client(home.path());
  engine::Page page;
  page.descending = true;
  page.limit = 1;
  Json list = client->list_checkpoints(1, page);
  assert_equal(list.at("checkpoints")[0].at("uuid"), "second");
  page.after = list.at("next").get<int64_t>();
  list = client->list_checkpoints(0, page);
  assert_equal(list.at("checkpoints")[0].at("uuid"), "first");
  assert_true(list.at("next").is_null());
  const Json shown = client->get_checkpoint("first");
  assert_string_equal(keys_of(shown).c_str(),
                      "uuid trial_id trial_run_id steps_completed state size time metadata "
                      "resources pinned storage");
  assert_equal(shown.at("storage").at("type"), "directory");
}

void log_lines_are_listed(void **) {
  const Home home;
  fill(home);
  const auto client = client::open_client(home.path());
  const Json line = client->list_logs(1, {}).at("logs").at(0);
  assert_string_equal(keys_of(line).c_str(), "time level rank trial_run_id text");
  assert_equal(line.at("level"), "warning");
  assert_equal(line.at("text"), "careful");
}

// An experiment of trials with these losses and learning rates; null: no validation.
void fill_search(const Home &home, const std::vector<std::pair<Json, Json>> &trials) {
  engine::Database store = engine::open_store(home.store(), true, {});
  store.run("INSERT INTO experiments (name, state, config, created) VALUES ('s', 'ACTIVE', ?, 1)",
            R"({"searcher":{"name":"random","metric":"loss","smaller_is_better":true},)"
            R"("hyperparameters":{"opt":{"lr":{"type":"log","base":10,"minval":-3,"maxval":0}}}})");
  engine::ReportWriter writer(store);
  int64_t id = 0;
  for (const auto &[loss, lr] : trials) {
    store.run(
        "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, created, ended)"
        " VALUES (1, 'COMPLETED', ?, 1, 't', 1, 2)",
        to_wire({{"opt", {{"lr", lr}}}, {"fixed", 1}}));
    ++id;
    const std::string text = to_wire({{"loss", loss}});
    if (!loss.is_null())
      writer.deliver({id, 1, 0, "journal " + std::to_string(id)},
                     std::vector{metrics_json(1, "validation", 10, text)});
  }
}

std::vector<int64_t> ids_of(const Json &list) {
  std::vector<int64_t> ids;
  for (const Json &entry : list.at("trials")) ids.push_back(entry.at("id").get<int64_t>());
  return ids;
}

void trials_are_listed_by_their_metric(void **) {
  const Home home;
  fill_search(home, {{0.5, 1}, {nullptr, 1}, {0.25, 1}, {"NaN", 1}, {0.5, 1}, {0.125, 1}});
  const auto client = client::open_client(home.path());
  const auto all = [&](bool descending) {
    std::vector<int64_t> ids;
    engine::Page page{0, 2, descending, true};
    for (Json next = 0; !next.is_null();) {
      page.after = next.get<int64_t>();
      const Json list = client->list_trials(1, page);
      for (const int64_t id : ids_of(list)) ids.push_back(id);
      next = list.at("next");
    }
    return ids;
  };
  assert_equal(all(false), std::vector<int64_t>({6, 3, 1, 5, 4, 2}));
  assert_equal(all(true), std::vector<int64_t>({2, 4, 5, 1, 3, 6}));
  assert_code(Code::invalid, client->list_trials(0, {0, 10, false, true}));
}

void the_best_trial_comes_with_the_checkpoint_of_its_best_step(void **) {
  const Home home;
  fill(home);
  auto client = client::open_client(home.path());
  Json best = client::best_trial(*client, 1);
  assert_string_equal(
      keys_of(best).c_str(),
      "experiment_id name state searcher_metric smaller_is_better trial checkpoint");
  assert_equal(best.at("trial").at("id"), 1);
  assert_equal(best.at("trial").at("hparams").at("lr"), 0.5);
  assert_equal(best.at("checkpoint").at("uuid"), "second");
  assert_equal(best.at("checkpoint").at("storage").at("type"), "directory");
  assert_true(best.at("checkpoint").at("directory").is_null());
  // Without that one, the latest.
  home.look().run("UPDATE checkpoints SET state='DELETED' WHERE uuid='second'");
  home.look().run(
      "UPDATE checkpoints SET storage="
      "'{\"type\":\"shared_fs\",\"host_path\":\"/a\",\"storage_path\":\"b\"}'");
  best = client::best_trial(*client, 1);
  assert_equal(best.at("checkpoint").at("uuid"), "first");
  assert_equal(best.at("checkpoint").at("directory"), "/a/b/first");
}

void of_equal_metrics_the_latest_checkpoint_is_the_best(void **) {
  const Home home;
  const auto run = home.start(Json{{"searcher", {{"name", "single"}, {"metric", "loss"}}}});
  uint64_t sequence = 0;
  for (const auto &[steps, loss] : std::map<int64_t, double>{{1, 0.5}, {2, 0}, {3, 0}, {4, 0.1}}) {
    deliver(*run, {metrics(++sequence, "validation", steps, {{"loss", loss}})});
    run->checkpoints().report({"at" + std::to_string(steps),
                               {{"steps_completed", steps}},
                               {},
                               {{"type", "directory"}, {"container_path", "/c"}}});
  }
  const auto client = client::open_client(home.path());
  const auto best = [&] { return client::best_trial(*client, 1).at("checkpoint").at("uuid"); };
  assert_equal(best(), "at3");
  home.look().run("UPDATE checkpoints SET state='DELETED' WHERE uuid='at3'");
  assert_equal(best(), "at2");
  home.look().run("UPDATE checkpoints SET state='DELETED' WHERE uuid='at2'");
  assert_equal(best(), "at4");
}

void without_a_validation_there_is_no_best_trial(void **) {
  const Home home;
  fill_search(home, {{nullptr, 1}, {nullptr, 2}});
  const auto client = client::open_client(home.path());
  const Json best = client::best_trial(*client, 1);
  assert_true(best.at("trial").is_null() && best.at("checkpoint").is_null());
  assert_equal(best.at("searcher_metric"), "loss");
  assert_code(Code::not_found, client::best_trial(*client, 2));
}

void hyperparameters_that_vary_are_ranked(void **) {
  const Home home;
  fill_search(home,
              {{8, 0.8}, {7, 0.7}, {6, 0.6}, {5, 0.5}, {4, 0.4}, {3, 0.3}, {2, 0.2}, {1, 0.1}});
  const auto client = client::open_client(home.path());
  const Json answer = client::hparam_importance(*client, 1);
  assert_equal(answer.at("trials"), 8);
  assert_equal(answer.at("hparams").size(), 1);
  const Json &lr = answer.at("hparams")[0];
  assert_string_equal(keys_of(lr).c_str(),
                      "name type log importance error p_value trend trials groups");
  assert_equal(lr.at("name"), "opt.lr");
  assert_equal(lr.at("type"), "number");
  assert_equal(lr.at("log"), true);
  // Every rank follows from the learning rate; a forest sees most of it in eight trials.
  assert_true(lr.at("importance") > 0.4 && answer.at("explained") > 0.7);
  assert_equal(lr.at("trend"), 1.0);
  assert_true(lr.at("p_value") < 0.01);
  // Low, middle and high: 3, 3 and 2 of 8, the lowest first.
  assert_int_equal(lr.at("groups").size(), 3);
  assert_string_equal(lr.at("groups")[0].dump().c_str(),
                      R"({"from":0.1,"to":0.3,"trials":3,"metric":[1.0,1.5,2.0,2.5,3.0]})");
  assert_string_equal(lr.at("groups")[2].dump().c_str(),
                      R"({"from":0.7,"to":0.8,"trials":2,"metric":[7.0,7.25,7.5,7.75,8.0]})");
}

void too_few_finished_trials_tell_nothing(void **) {
  const Home home;
  fill_search(home, {{1, 1}, {2, 2}, {3, 3}, {nullptr, 4}});
  const auto client = client::open_client(home.path());
  std::string message;
  assert_int_equal(
      static_cast<int>(code_of([&] { client::hparam_importance(*client, 1); }, &message)),
      static_cast<int>(Code::state));
  assert_true(contains(message, "3 finished trial(s) with a value of 'loss'"));
}

void garbage_is_told_and_then_deleted(void **) {
  const Home home;
  fill(home);  // its files are nowhere: nothing can be deleted
  const auto client = client::open_client(home.path());
  home.look().run(
      "UPDATE experiments SET config=json_set(config, '$.checkpoint_storage.save_trial_latest', "
      "0)");
  const Json told = client->collect_garbage(1, true);
  assert_equal(told.at("checkpoints").size(), 1);
  assert_equal(told.at("size"), 100);
  assert_equal(told.at("checkpoints")[0].at("uuid"), "first");
  const std::filesystem::path files = home.path() / "files";
  std::filesystem::create_directories(files / "first");
  home.look().run("UPDATE checkpoints SET storage=?",
                  to_wire({{"type", "directory"}, {"container_path", files.string()}}));
  home.look().run("UPDATE experiments SET state='ACTIVE'");
  assert_code(Code::state, client->collect_garbage(1, false));
  home.look().run("UPDATE experiments SET state='COMPLETED'");
  assert_equal(client->collect_garbage(1, false), told);
  assert_false(std::filesystem::exists(files / "first"));
  assert_true(client->collect_garbage(1, true).at("checkpoints").empty());
  assert_code(Code::not_found, client->collect_garbage(9, true));
}

void unknown_ids_are_not_found(void **) {
  const Home home;
  fill(home);
  const auto client = client::open_client(home.path());
  assert_code(Code::not_found, client->get_experiment(9));
  assert_code(Code::not_found, client->get_trial(9));
  assert_code(Code::not_found, client->get_checkpoint("../first"));
  assert_code(Code::not_found, client->list_metrics(9, std::nullopt, {}));
  assert_code(Code::not_found, client->list_logs(9, {}));
  assert_code(Code::not_found, client->control(engine::Target::trial, 9, engine::Action::pause));
  assert_code(Code::not_found,
              client->control(engine::Target::experiment, 9, engine::Action::kill));
}

}  // namespace
}  // namespace det::test

int test_client() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_store_that_is_not_there_is_not_found),
      cmocka_unit_test(an_empty_store_has_empty_lists),
      cmocka_unit_test(experiments_are_listed_and_shown),
      cmocka_unit_test(a_trial_is_shown_with_all_there_is),
      cmocka_unit_test(a_run_is_running_as_long_as_its_process),
      cmocka_unit_test(a_deletion_takes_what_lies_in_files_as_well),
      cmocka_unit_test(a_copied_store_has_the_tensorboard_files_of_both),
      cmocka_unit_test(an_experiment_that_says_only_how_many_stay_is_deleted),
      cmocka_unit_test(a_deletion_that_fails_says_what_to_do),
      cmocka_unit_test(the_names_of_metrics_are_those_of_all_reports),
      cmocka_unit_test(a_page_of_long_reports_has_fewer),
      cmocka_unit_test(a_stored_report_that_is_no_json_is_told),
      cmocka_unit_test(reports_are_listed_in_order_by_group_and_page),
      cmocka_unit_test(checkpoints_are_listed_newest_first_and_shown),
      cmocka_unit_test(log_lines_are_listed),
      cmocka_unit_test(trials_are_listed_by_their_metric),
      cmocka_unit_test(the_best_trial_comes_with_the_checkpoint_of_its_best_step),
      cmocka_unit_test(of_equal_metrics_the_latest_checkpoint_is_the_best),
      cmocka_unit_test(without_a_validation_there_is_no_best_trial),
      cmocka_unit_test(hyperparameters_that_vary_are_ranked),
      cmocka_unit_test(too_few_finished_trials_tell_nothing),
      cmocka_unit_test(garbage_is_told_and_then_deleted),
      cmocka_unit_test(unknown_ids_are_not_found),
  };
  return cmocka_run_group_tests_name("client", tests, nullptr, nullptr);
}
