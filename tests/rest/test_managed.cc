// Trials that a master's cluster has started, from their start to their end.
#include "core/context/core.h"

#include "core/master/rest/connect.h"
#include "core/master/rest/container_rendezvous.h"
#include "tests/expect_error.h"
#include "tests/rest/surroundings.h"

namespace {

using namespace det;
using namespace det::master;
using namespace det::test;

constexpr std::array managed_versions{"0.19.10", "0.33.0", "0.38.1"};

Json acknowledgements(const FakeMaster &master) {
  return master.state()["allocations"]["1.aaaa.1"]["acks"];
}

void run_without_incident_leaves_nothing(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    assert_int_equal(core->info().run().trial_id, 7);
    report_training(*core, 1, 0.5);
    core->close(engine::RunEnd::ok);
    const Json state = master.state();
    assert_equal(steps_of(state), steps_to(1));
    assert_true(acknowledgements(master).empty());
    // Each process says that it takes part, where there is a call for that.
    assert_int_equal(state["trials"]["7"]["starts"].get<int>(), version == "0.19.10" ? 0 : 1);
    assert_true(state["allocations"]["1.aaaa.1"]["has_met"].get<bool>());
    assert_true(place.left_behind(master.url()).empty());
    for (const Json &request : master.requests())
      assert_true(request["auth"] == "allocation" || request["path"] == "/api/v1/master");
    place.assert_no_token_shown();
  }
}

void preemption_is_seen_and_acknowledged_once(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    assert_true(core->info().on_cluster());
    assert_false(core->preempt().should_preempt(true));
    assert_true(acknowledgements(master).empty());
    master.preempt();
    wait_until_so([&] { return core->preempt().should_preempt(false); });
    assert_true(acknowledgements(master).empty());
    assert_true(core->preempt().should_preempt(true));
    assert_true(core->preempt().should_preempt(true));
    core->close(engine::RunEnd::ok);
    const Json acks = acknowledgements(master);
    assert_equal(acks.size(), 1);
    assert_equal(acks[0]["preempted"], true);
  }
}

void acknowledgement_whose_answer_is_lost_is_sent_again(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.in_task(master.url());
  const auto core = context::Core::start(place.options());
  master.add_fault({{"path", "ack_preemption"}, {"how", "drop"}});
  master.preempt();
  wait_for_preemption(*core);
  assert_int_equal(acknowledgements(master).size(), 1);
  core->close(engine::RunEnd::ok);
}

void signal_to_the_process_is_announced_where_the_master_listens(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    context::CoreOptions options = place.options();
    options.preempt_signals = {SIGTERM};
    const auto core = context::Core::start(options);
    raise(SIGTERM);
    wait_for_preemption(*core);
    core->close(engine::RunEnd::ok);
    const Json acks = acknowledgements(master);
    if (version == "0.38.1") {
      assert_equal(acks.size(), 1);
      assert_equal(acks[0]["preempted"], true);
      continue;
    }
    // One that is not pending there would start the trial again and again.
    assert_true(acks.empty());
    assert_true(contains(place.log(), "telling the master of signal 15"));
  }
}

void poll_that_is_answered_at_once_does_not_spin(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    Json cluster = place.cluster(master.url());
    cluster["allocation_id"] = "1.aaaa.2";  // which the master does not know
    place.in_prepared_task(cluster, place.trial());
    const auto begun = std::chrono::steady_clock::now();
    const auto core = context::Core::start(place.options());
    // One refuses, and is asked every ten seconds; the others twice at once, then every second.
    const bool refuses = version == "0.19.10";
    wait_until_so(
        [&] { return requests_to(master, "signals/preemption").size() >= (refuses ? 2U : 5U); });
    const auto passed = std::chrono::steady_clock::now() - begun;
    assert_true(passed >= std::chrono::seconds(refuses ? 10 : 3));
    assert_false(core->preempt().should_preempt(true));
    core->close(engine::RunEnd::ok);
  }
}

void operations_are_done_one_after_the_other(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version, {{"lengths", {10, 40}}});
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    std::vector<uint64_t> lengths;
    while (context::SearcherOperation *operation = core->searcher().next()) {
      lengths.push_back(operation->length());
      assert_true(acknowledgements(master).empty());
      report_validation(*core, static_cast<int64_t>(operation->length()), 0.5);
      operation->report_completed(0.5);
    }
    const Json acks = acknowledgements(master);
    const Json completed = master.state()["trials"]["7"]["completed_operations"];
    if (version == "0.38.1") {
      // The one operation is made up here: neither its end nor the acknowledgement is sent.
      assert_equal(lengths, std::vector<uint64_t>{100});
      assert_true(acks.empty() && completed.empty());
    } else {
      assert_equal(lengths, std::vector<uint64_t>{10, 40});
      assert_equal(completed.size(), 2);
      assert_equal(acks.size(), 1);
      assert_equal(acks[0]["operations_done"], true);
    }
    core->close(engine::RunEnd::ok);
    assert_int_equal(acknowledgements(master).size(), acks.size());

    // An operation's end does not overtake the validation that it is about.
    size_t validations = 0;
    for (const Json &request : master.requests()) {
      const std::string path = request["path"];
      if (path.ends_with("metrics")) ++validations;
      if (path.ends_with("completed_operation"))
        assert_int_equal(validations, request["body"]["op"]["length"] == 10 ? 1 : 2);
    }
  }
}

void search_that_is_left_early_is_not_acknowledged(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version, {{"lengths", {10, 40}}});
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    core->searcher().next()->report_completed(0.5);
    expect_error(Code::state, [&] { core->searcher().acknowledge_out_of_operations(); });
    core->close(engine::RunEnd::ok);
    assert_true(acknowledgements(master).empty());
  }
}

void lost_answer_to_a_completed_operation_is_reconciled(void **) {
  for (const std::string version : {"0.19.10", "0.33.0"})
    for (const Json &lengths : {Json{10, 40}, Json{10}})
      for (const char *how : {"drop", "cut"}) {
        const FakeMaster &master = fresh_master(version, {{"lengths", lengths}});
        Surroundings place;
        place.in_task(master.url());
        const auto core = context::Core::start(place.options());
        master.add_fault({{"path", "completed_operation"}, {"how", how}, {"after", "store"}});
        size_t count = 0;
        for (; context::SearcherOperation *operation = core->searcher().next(); ++count)
          operation->report_completed(0.5);
        assert_int_equal(count, lengths.size());
        core->close(engine::RunEnd::ok);
        const Json completed = master.state()["trials"]["7"]["completed_operations"];
        assert_int_equal(completed.size(), lengths.size());
        assert_int_equal(requests_to(master, "completed_operation").size(), lengths.size() + 1);
      }
}

void operation_that_the_master_refuses_is_an_error(void **) {
  for (const std::string version : {"0.19.10", "0.33.0"}) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    context::SearcherOperation *operation = core->searcher().next();
    master.add_fault({{"path", "completed_operation"}});
    expect_error(Code::state, [&] { operation->report_completed(0.5); });
    operation->report_completed(0.5);  // it was not: once more
    assert_equal(core->searcher().next(), nullptr);
    core->close(engine::RunEnd::ok);
  }
}

std::string upload(context::Core &core, const Surroundings &place) {
  fs::create_directories(place.directory / "model");
  write_all(open_file(place.directory / "model" / "a", O_WRONLY | O_CREAT | O_TRUNC).get(), "x",
            "a");
  return core.checkpoint().saver().upload(place.directory / "model", R"({"steps_completed": 1})",
                                          false, {});
}

void lost_answer_to_a_checkpoint_is_reconciled(void **) {
  for (const std::string version : managed_versions)
    for (const char *how : {"drop", "cut"}) {
      const FakeMaster &master = fresh_master(version);
      Surroundings place;
      place.in_task(master.url());
      const auto core = context::Core::start(place.options());
      report_training(*core, 1, 0.5);
      master.add_fault({{"path", "POST /api/v1/checkpoints$"}, {"how", how}, {"after", "store"}});
      upload(*core, place);
      core->close(engine::RunEnd::ok);
      const Json state = master.state();
      assert_int_equal(state["checkpoints"].size(), 1);
      assert_equal(state["checkpoints"][0]["state"], "STATE_COMPLETED");
      assert_int_equal(requests_to(master, "/checkpoints").size(), 2);
      // After the report that was made before it.
      const Json requests = master.requests();
      const auto is_to = [](const char *end) {
        return [end](const Json &asked) { return asked["path"].get<std::string>().ends_with(end); };
      };
      assert_true(std::ranges::find_if(requests, is_to("metrics")) <
                  std::ranges::find_if(requests, is_to("/checkpoints")));
    }
}

void steps_beyond_those_that_a_master_counts_are_refused_at_the_call(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.in_task(master.url());
  const auto core = context::Core::start(place.options());
  constexpr int64_t most = INT32_MAX;
  const journal::NamedValue loss{"loss", 0.5};
  core->train().report_training(most, &loss, 1);
  core->train().report("other", most, &loss, 1);
  const auto refused = [&](const auto &call) {
    assert_true(contains(expect_error(Code::invalid, call), "at most 2147483647"));
  };
  refused([&] { core->train().report_training(most + 1, &loss, 1); });
  refused([&] { core->train().report_validation(most + 1, &loss, 1); });
  refused([&] { core->train().report("other", most + 1, &loss, 1); });
  refused([&] { core->train().report_json("training", most + 1, {{"loss", 1}}, std::nullopt); });
  refused([&] {
    core->checkpoint().saver().upload(place.directory.path(), R"({"steps_completed": 2147483648})",
                                      false, {});
  });
  core->close(engine::RunEnd::ok);
  assert_int_equal(master.state()["metrics"].size(), 2);
}

void checkpoint_that_the_master_refuses_is_an_error(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.in_task(master.url());
  const auto core = context::Core::start(place.options());
  const Json error{{"code", 13}, {"error", "a fault of the test (SQLSTATE 23503)"}};
  master.add_fault({{"path", "POST /api/v1/checkpoints$"}, {"body", {{"error", error}}}});
  const std::string message = expect_error(Code::state, [&] { upload(*core, place); });
  assert_true(contains(message, "a fault of the test"));
  core->close(engine::RunEnd::ok);
}

void deleted_checkpoint_is_told_before_its_files_go(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    const std::string id = upload(*core, place);
    const fs::path stored = place.directory / "checkpoints" / id;
    // As of a model in the registry. Before 0.33 masters are not told at all.
    const bool is_told = version != "0.19.10";
    if (is_told) {
      master.add_fault({{"path", "PATCH /api/v1/checkpoints$"}, {"status", 400}});
      expect_error(Code::invalid, [&] { core->checkpoint().remove(id); });
      core->checkpoint().restorer().restore(id, {.mode = context::DownloadMode::no_shared});
    }
    core->checkpoint().remove(id);
    assert_false(fs::exists(stored));
    const Json state = master.state();
    assert_string_equal(state["checkpoints"][0]["state"].get<std::string>().c_str(),
                        is_told ? "STATE_DELETED" : "STATE_COMPLETED");
    core->close(engine::RunEnd::ok);
  }
}

// Only this library trains a managed trial, and it stores nothing without a manifest.
void own_checkpoint_without_its_manifest_is_corrupt(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    std::string id;
    for (int run = 0; run < 2; ++run) {
      const auto core = context::Core::start(place.options());
      if (id.empty()) id = upload(*core, place);
      fs::remove(place.directory / "checkpoints" / id / ".detcore-manifest.json");
      expect_error(Code::corrupt, [&] {
        core->checkpoint().restorer().restore(id, {.mode = context::DownloadMode::no_shared});
      });
      core->close(engine::RunEnd::ok);
    }
  }
}

// What runs there is what the experiment's image starts for anything.
void task_that_collects_checkpoints_is_no_trial(void **) {
  for (const std::string version : managed_versions)
    for (const bool from_files : {false, true}) {
      const FakeMaster &master = fresh_master(version);
      Surroundings place;
      place.in_task(master.url());
      place.as_user(master.url());  // else it would be refused for want of a login
      Surroundings::set("DET_TASK_TYPE", "CHECKPOINT_GC");
      if (from_files) {
        Json cluster = place.cluster(master.url());
        cluster["task_type"] = "CHECKPOINT_GC";
        place.write_info("cluster", cluster.dump());
      }
      const std::string message =
          expect_error(Code::unsupported, [&] { context::Core::start(place.options()); });
      assert_true(contains(message, "CHECKPOINT_GC") && contains(message, "DET_PYTHON_EXECUTABLE"));
      assert_int_equal(master.state()["experiments"].size(), 1);
      assert_int_equal(master.requests().size(), 0);
    }
}

void best_validation_is_none_before_the_first(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    assert_false(core->train().best_validation().has_value());
    report_validation(*core, 1, 0.5);
    report_validation(*core, 2, 0.25);
    report_validation(*core, 3, 0.75);
    core->train().flush(std::nullopt);
    assert_equal(core->train().best_validation(), 0.25);
    core->close(engine::RunEnd::ok);
  }
}

void last_validation_is_that_of_the_trial(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    assert_false(core->train().last_validation().has_value());
    report_validation(*core, 4, 0.5);
    report_validation(*core, 9, 0.75);
    assert_equal(core->train().last_validation(), int64_t{9});  // also the reports that waited
    core->close(engine::RunEnd::ok);
  }
}

void early_exit_is_told(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version);
    Surroundings place;
    place.in_task(master.url());
    const auto core = context::Core::start(place.options());
    core->close(engine::RunEnd::invalid_hp);
    assert_equal(master.state()["trials"]["7"]["early_exits"], Json({"EXITED_REASON_INVALID_HP"}));
  }
}

// What another container of the trial does meanwhile.
class OtherContainer {
 public:
  OtherContainer(const FakeMaster &master, const std::string &method, const std::string &path,
                 const Json &body = {})
      : client_({}, std::make_shared<Logger>()) {
    http::HttpRequest request{.method = method,
                              .url = master.url("/api/v1/allocations/1.aaaa.1" + path)};
    request.headers = {{"Grpc-Metadata-x-allocation-token", "Bearer task-token"}};
    if (!body.is_null()) request.body = body.dump();
    call_.emplace(client_.send(std::move(request)));
  }
  Json answer() { return Json::parse(call_->wait().body); }

 private:
  http::HttpClient client_;
  std::optional<http::HttpCall> call_;
};

config::ClusterInfo meet() {
  config::ClusterInfo cluster = *config::read_cluster_info();
  const auto session = connect_to_task_master(cluster, std::make_shared<Logger>());
  rendezvous(*session, cluster);
  return cluster;
}

void containers_meet_by_what_the_variables_say(void **) {
  for (const std::string version : managed_versions) {
    const FakeMaster &master = fresh_master(version, {{"resources_ids", {"c1", "c2"}}});
    Surroundings place;
    place.in_task(master.url());
    Surroundings::set("DET_RESOURCES_ID", "c2");
    OtherContainer other(master, "GET", "/resources/c1/rendezvous");
    const config::ClusterInfo cluster = meet();
    assert_int_equal(cluster.container_rank, 1);
    assert_int_equal(cluster.container_addresses.size(), 2);
    assert_equal(other.answer()["rendezvousInfo"]["rank"], 0);
  }
}

void containers_on_slurm_tell_each_other(void **) {
  const FakeMaster &master = fresh_master("0.33.0");
  Surroundings place;
  place.in_task(master.url());
  Surroundings::set("DET_RESOURCES_TYPE", "slurm-job");
  Surroundings::set("DET_SLURM_RENDEZVOUS_IFACE", "lo");
  setenv("SLURM_NPROCS", "2", 1);
  setenv("SLURM_PROCID", "1", 1);
  const Json data{{"rank", 0}, {"rendezvous_ip", "10.0.0.9"}, {"slots", 4}};
  OtherContainer other(
      master, "POST", "/all_gather",
      {{"requestUuid", "fe2fe4d5-505f-467e-b9be-3823f3c35300"}, {"numPeers", 2}, {"data", data}});
  const config::ClusterInfo cluster = meet();
  unsetenv("SLURM_NPROCS");
  unsetenv("SLURM_PROCID");
  assert_int_equal(cluster.container_rank, 1);
  assert_equal(cluster.container_addresses, std::vector<std::string>{"10.0.0.9", "127.0.0.1"});
  assert_equal(cluster.container_slot_counts, std::vector<int64_t>{4, 1});
}

void container_without_its_name_cannot_meet(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.in_task(master.url());
  unsetenv("DET_RESOURCES_ID");
  assert_true(contains(expect_error(Code::invalid, [&] { context::Core::start(place.options()); }),
                       "DET_RESOURCES_ID"));
}

void journal_of_a_killed_process_reaches_the_master(void **) {
  const FakeMaster &master = fresh_master("0.38.1");
  Surroundings place;
  place.in_task(master.url());
  const Json away{{"path", "metrics$"}, {"status", 503}, {"count", 100'000}};
  master.add_fault(away);
  const auto report_and_die = [&](int64_t first) {
    run_and_kill([&] {
      const auto core = context::Core::start(place.options());
      for (int64_t step = first; step < first + 20; ++step) report_training(*core, step, 0.5);
      return core;
    });
  };
  report_and_die(1);
  // The launcher starts it again in the same run, while the master is still away.
  report_and_die(21);
  assert_true(steps_of(master.state()).empty());
  master.heal();
  const auto core = context::Core::start(place.options());
  for (int64_t step = 41; step <= 60; ++step) report_training(*core, step, 0.5);
  core->close(engine::RunEnd::ok);
  assert_equal(steps_of(master.state()), steps_to(60));
  assert_true(place.left_behind(master.url()).empty());
}

}  // namespace

int test_managed() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(run_without_incident_leaves_nothing),
      cmocka_unit_test(preemption_is_seen_and_acknowledged_once),
      cmocka_unit_test(acknowledgement_whose_answer_is_lost_is_sent_again),
      cmocka_unit_test(signal_to_the_process_is_announced_where_the_master_listens),
      cmocka_unit_test(poll_that_is_answered_at_once_does_not_spin),
      cmocka_unit_test(operations_are_done_one_after_the_other),
      cmocka_unit_test(search_that_is_left_early_is_not_acknowledged),
      cmocka_unit_test(lost_answer_to_a_completed_operation_is_reconciled),
      cmocka_unit_test(operation_that_the_master_refuses_is_an_error),
      cmocka_unit_test(lost_answer_to_a_checkpoint_is_reconciled),
      cmocka_unit_test(steps_beyond_those_that_a_master_counts_are_refused_at_the_call),
      cmocka_unit_test(checkpoint_that_the_master_refuses_is_an_error),
      cmocka_unit_test(deleted_checkpoint_is_told_before_its_files_go),
      cmocka_unit_test(own_checkpoint_without_its_manifest_is_corrupt),
      cmocka_unit_test(task_that_collects_checkpoints_is_no_trial),
      cmocka_unit_test(best_validation_is_none_before_the_first),
      cmocka_unit_test(last_validation_is_that_of_the_trial),
      cmocka_unit_test(early_exit_is_told),
      cmocka_unit_test(containers_meet_by_what_the_variables_say),
      cmocka_unit_test(containers_on_slurm_tell_each_other),
      cmocka_unit_test(container_without_its_name_cannot_meet),
      cmocka_unit_test(journal_of_a_killed_process_reaches_the_master),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
