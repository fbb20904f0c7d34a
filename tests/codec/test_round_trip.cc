// What is written reads back the same, in every generation that has the call.
#include "tests/cmocka.h"
#include "tests/codec/calls.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::codec;

constexpr Time time{1767225600000001};
const Json object{{"a", {{"b", 1}}}, {"c", "\u00e9"}};

// Also in bytes, since the names do not change on the way.
template <class Call>
void request(const Call &call) {
  for (const WireVersion version : all_versions) {
    if (!has_call<Call>(version)) {
      expect_error(Code::unsupported, [&] { write_request(call, version); });
      continue;
    }
    const WireRequest first = write_request(call, version);
    const auto read = read_request<Call>(first, version);
    assert_true(read.has_value());
    const WireRequest second = write_request(*read, version);
    assert_string_equal(second.method.c_str(), first.method.c_str());
    assert_string_equal(second.path.c_str(), first.path.c_str());
    assert_string_equal(second.query.c_str(), first.query.c_str());
    assert_string_equal(second.body.c_str(), first.body.c_str());
    assert_equal(first.path.find('{'), first.path.npos);
  }
}

template <class Call>
void answer(const typename Call::Response &value, const char *text) {
  for (const WireVersion version : all_versions) {
    if (!has_call<Call>(version)) continue;
    const std::string first = write_response<Call>(value, version);
    if (version == WireVersion::v0_38) assert_string_equal(first.c_str(), text);
    const auto read = read_response<Call>({200, first}, version);
    assert_string_equal(write_response<Call>(read, version).c_str(), first.c_str());
  }
}

void calls_of_the_session(void **) {
  request(GetMaster{});
  answer<GetMaster>({.version = "0.38.1", .cluster_id = "c", .cluster_name = "n", .master_id = "m"},
                    R"({"version":"0.38.1","clusterId":"c","clusterName":"n","masterId":"m",)"
                    R"("strictJobQueueControl":false,"hasCustomLogo":false})");
  request(GetInfo{});
  answer<GetInfo>({.version = "0.38.1", .cluster_id = "c"},
                  R"({"version":"0.38.1","cluster_id":"c","cluster_name":"","master_id":""})");
  request(Login{.username = "bob", .password = "secret", .is_hashed = true});
  answer<Login>({.token = "t", .user = {.id = 3, .username = "bob", .admin = true}},
                R"({"token":"t","user":{"id":3,"username":"bob","admin":true,"active":true}})");
  request(GetMe{});
  request(Logout{});
  answer<Logout>({}, "{}");
}

void calls_of_a_run(void **) {
  request(StartRun{.trial_id = 7, .checkpoint_storage = object});
  answer<StartRun>({.storage_id = 3}, R"({"storageId":3})");
  request(SetStatus{.trial_id = 7, .status = "working"});
  request(ReportProgress{.trial_id = 7, .progress = 0.25});
  request(ReportEarlyExit{.trial_id = 7, .reason = EarlyExit::init_invalid_hp});
  request(GetBestValidation{.experiment_id = 2});
  answer<GetBestValidation>({.metric = -HUGE_VAL}, R"({"metric":"-Infinity"})");
  request(GetRunMetadata{.trial_id = 7});
  request(SetRunMetadata{.trial_id = 7, .metadata = object});
  answer<SetRunMetadata>({.metadata = object}, "{\"metadata\":{\"a\":{\"b\":1},\"c\":\"\u00e9\"}}");
}

void calls_of_preemption_and_search(void **) {
  request(PollPreemption{.allocation_id = "1.a.1", .timeout_seconds = 60});
  answer<PollPreemption>({.preempt = true}, R"({"preempt":true})");
  request(AcknowledgePreemption{.allocation_id = "1.a.1"});
  request(AnnouncePreemption{.allocation_id = "1.a.1"});
  request(GetOperation{.trial_id = 7});
  request(CompleteOperation{.trial_id = 7, .length = 100, .metric = 0.5});
  request(CompleteOperation{.trial_id = 7, .length = UINT64_MAX});
  answer<GetOperation>({.completed = true}, "");
  answer<GetOperation>({.completed = false, .op = Operation{UINT64_MAX}}, "");
}

void reports_of_metrics(void **) {
  request(ReportMetrics{.trial_id = 7,
                        .run_id = 2,
                        .group = "training",
                        .steps_completed = 10,
                        .report_time = time,
                        .values = object,
                        .batches = {object, object}});
  request(ReportMetrics{.trial_id = 7, .group = "validation", .steps_completed = -1});
}

void calls_about_checkpoints(void **) {
  const Checkpoint checkpoint{.uuid = "u-1",
                              .task_id = "1.a",
                              .allocation_id = "1.a.1",
                              .storage_id = 3,
                              .state = CheckpointState::partially_deleted,
                              .report_time = time,
                              .resources = {{"sub/", 0}, {"sub/w", UINT64_MAX}},
                              .metadata = {{"steps_completed", 5}},
                              .training = {.trial_id = 7,
                                           .experiment_id = 2,
                                           .experiment_config = object,
                                           .hparams = object,
                                           .training_metrics = object,
                                           .validation_metrics = object,
                                           .searcher_metric = 0.5}};
  request(ReportCheckpoint{checkpoint});
  request(GetCheckpoint{.uuid = "u-1"});
  request(SetCheckpointMetadata{.uuid = "u-1", .metadata = object});
  request(PatchCheckpoints{{{.uuid = "u-1", .resources = Sizes{}},
                            {.uuid = "u-2", .resources = Sizes{{"a", 1}}},
                            {.uuid = "u-3"}}});
  answer<GetCheckpoint>(
      {checkpoint},
      R"({"checkpoint":{"uuid":"u-1","taskId":"1.a","allocationId":"1.a.1","storageId":3,)"
      R"("state":"STATE_PARTIALLY_DELETED","reportTime":"2026-01-01T00:00:00.000001+00:00",)"
      R"("resources":{"sub/":"0","sub/w":"18446744073709551615"},)"
      R"("metadata":{"steps_completed":5},"training":{"trialId":7,"experimentId":2,)"
      "\"experimentConfig\":{\"a\":{\"b\":1},\"c\":\"\u00e9\"},"
      "\"hparams\":{\"a\":{\"b\":1},\"c\":\"\u00e9\"},"
      "\"trainingMetrics\":{\"a\":{\"b\":1},\"c\":\"\u00e9\"},"
      "\"validationMetrics\":{\"a\":{\"b\":1},\"c\":\"\u00e9\"},\"searcherMetric\":0.5}}}");
}

// One comparison for each pair of them would take minutes.
void a_checkpoint_may_have_many_files(void **) {
  PatchCheckpoints call{{{.uuid = "u-1", .resources = Sizes{}}}};
  Sizes &files = *call.checkpoints.at(0).resources;
  for (uint64_t i = 0; i < 300'000; ++i) files["weights/" + std::to_string(i)] = i;
  const auto read =
      read_request<PatchCheckpoints>(write_request(call, WireVersion::v0_38), WireVersion::v0_38);
  assert_equal(read.value().checkpoints.at(0).resources, files);
}

void calls_of_unmanaged_trials(void **) {
  const CreateUnmanagedTrial trial{.experiment_id = 2, .hparams = object};
  request(CreateExperiment{.config = "name: n\n"});
  request(PutExperiment{"an id, 100%\u00e9", {.config = "name: n\n"}});
  request(trial);
  request(PutTrial{trial, "t 1"});
  request(PutTrial{trial, std::nullopt});
  request(StartTrial{.trial_id = 7});
  request(PatchTrial{.trial_id = 7, .state = TrialState::running});
  request(PatchTrial{.trial_id = 7});
  request(GetTrial{.trial_id = 7});
  answer<StartTrial>({.run_id = 2, .latest_checkpoint = "u-1", .steps_completed = 10},
                     R"({"trialRunId":2,"latestCheckpoint":"u-1","stepsCompleted":10})");
  answer<GetTrial>(
      {{.id = 7,
        .experiment_id = 2,
        .start_time = time,
        .state = TrialState::running,
        .latest_validation = StepMetrics{.end_time = time, .steps_completed = 9},
        .task_id = "1.a"}},
      R"({"trial":{"id":7,"experimentId":2,"startTime":"2026-01-01T00:00:00.000001+00:00",)"
      R"("state":"STATE_RUNNING","restarts":0,"hparams":{},"totalBatchesProcessed":0,)"
      R"("latestValidation":{"endTime":"2026-01-01T00:00:00.000001+00:00","totalBatches":9},)"
      R"("runnerState":"","taskId":"1.a"}})");
  answer<CreateExperiment>(
      {.experiment = {.id = 2, .name = "n", .state = "STATE_DELETING"}},
      R"({"experiment":{"id":2,"name":"n","state":"STATE_DELETING","archived":false,)"
      R"("unmanaged":false,"numTrials":0,"notes":"","labels":[],"username":"","jobId":"","searcherType":"",)"
      R"("projectId":0,"projectOwnerId":0,"originalConfig":"","config":{}},"config":{}})");
}

void calls_of_containers(void **) {
  request(GetRendezvous{.allocation_id = "1.a.1", .resources_id = "r"});
  request(
      AllGather{.allocation_id = "1.a.1", .request_uuid = "u-1", .peer_count = 2, .data = object});
  request(ReportAccelerators{.allocation_id = "1.a.1",
                             .container_id = "c",
                             .node_name = "n",
                             .task_id = "1.a",
                             .type = "cuda",
                             .uuids = {"GPU-1", "GPU-2"}});
  request(ReportProxyAddress{.allocation_id = "1.a.1", .address = "10.0.0.4"});
  request(MarkAsDaemon{.allocation_id = "1.a.1", .resources_id = "r"});
  answer<GetRendezvous>({.addresses = {"a", "b"}, .rank = 1, .slots = {8, 4}},
                        R"({"rendezvousInfo":{"addresses":["a","b"],"rank":1,"slots":[8,4]}})");
  answer<AllGather>({.data = {Json(1), Json("x")}}, R"({"data":[1,"x"]})");
}

void logs_and_notices(void **) {
  const LogLine line{.task_id = "1.a",
                     .rank = 1,
                     .time = time,
                     .level = "LOG_LEVEL_INFO",
                     .stream = "stdout",
                     .text = "a\n"};
  request(ShipLogs{{line, line}});
  request(ShipLogs{});
  answer<ShipLogs>({}, "\"\"");
  request(ShipTaskLogs{{line, LogLine{.text = "b"}}});
  request(ReportTrialSource{.trial_id = 7,
                            .checkpoint_uuid = "u-1",
                            .source = TrialSource::fine_tuning,
                            .model_id = 3,
                            .model_version = 1});
  answer<ReportTrialSource>({.trial_id = 7, .checkpoint_uuid = "u-1"},
                            R"({"trialId":7,"checkpointUuid":"u-1"})");
  request(SendAlert{.title = "t",
                    .description = "d",
                    .level = AlertLevel::warning,
                    .experiment_id = 2,
                    .trial_id = 7});
}

void lists_and_what_is_read_back(void **) {
  const ListPart part{
      .offset = 10, .limit = 5, .sort = "SORT_BY_ID", .order = ListOrder::descending};
  request(ListExperiments{.part = part, .archived = false, .username = "b b"});
  request(ListExperiments{});
  request(GetExperiment{2});
  request(ListTrials{2, part});
  request(ListExperimentCheckpoints{2, part});
  request(ListTrialCheckpoints{7, part});
  request(ListWorkloads{.trial_id = 7, .part = part, .with_batches = true});
  request(ListReports{.trial_id = 7, .group = "a b"});
  request(ListProfilerSeries{7});
  request(ReadProfilerSeries{7, {"gpu_util", "a 1", "GPU-1", "PROFILER_METRIC_TYPE_SYSTEM"}});
  request(ListTrialLogs{.trial_id = 7, .follow = true, .after = time, .before = time});
  const Pagination pagination{.offset = 10, .limit = 5, .start = 10, .end = 11, .total = 11};
  answer<ListWorkloads>(
      {{{.training = StepMetrics{.metrics = object, .steps_completed = 3}}, {}}, pagination},
      "{\"workloads\":[{\"training\":{\"metrics\":{\"a\":{\"b\":1},\"c\":\"\u00e9\"},"
      "\"totalBatches\":3}},{}],\"pagination\":{\"offset\":10,\"limit\":5,\"startIndex\":10,"
      "\"endIndex\":11,\"total\":11}}");
  answer<GetExperiment>(
      {{.id = 2, .progress = 0.5, .checkpoint_count = 3}},
      R"({"experiment":{"id":2,"name":"","state":"","archived":false,"unmanaged":false,)"
      R"("numTrials":0,"notes":"","labels":[],"username":"","jobId":"","searcherType":"","projectId":0,)"
      R"("projectOwnerId":0,"originalConfig":"","config":{},"progress":0.5,)"
      R"("checkpointCount":3}})");
}

void answers_in_parts_are_one_line_each(void **) {
  answer<ListTrialLogs>({{{.id = "5", .level = "LOG_LEVEL_INFO", .log = "a\n"}, {.id = "6"}}},
                        R"({"result":{"id":"5","level":"LOG_LEVEL_INFO","log":"a\n","message":""}})"
                        "\n"
                        R"({"result":{"id":"6","level":"","message":""}})"
                        "\n");
  answer<ListTrialLogs>({}, "");
  answer<ListReports>({{{{{.trial_id = 7, .run_id = 2, .steps_completed = 3, .group = "g"}}}}},
                      R"({"result":{"metrics":[{"trialId":7,"trialRunId":2,"totalBatches":3,)"
                      R"("group":"g","archived":false,"metrics":{}}]}})"
                      "\n");
  answer<ListProfilerSeries>({{{{{.name = "gpu_util", .agent_id = "a", .gpu_uuid = "GPU-1"}}}}},
                             R"({"result":{"labels":[{"name":"gpu_util","agentId":"a",)"
                             R"("gpuUuid":"GPU-1","metricType":""}]}})"
                             "\n");
  answer<ReadProfilerSeries>({{{.values = {1.5}, .times = {}}}},
                             R"({"result":{"batch":{"values":[1.5],"timestamps":[]}}})"
                             "\n");
}

void steering(void **) {
  request(PauseExperiment{{2}});
  request(ActivateExperiment{{2}});
  request(CancelExperiment{{2}});
  request(KillExperiment{{2}});
  request(ArchiveExperiment{{2}});
  request(UnarchiveExperiment{{2}});
  request(DeleteExperiment{{2}});
  request(PatchExperiment{2, "new", std::nullopt, {{"a", "b"}}});
  request(KillTrial{7});
  answer<KillTrial>({}, "{}");
}

}  // namespace

int test_round_trip() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(calls_of_the_session),
      cmocka_unit_test(calls_of_a_run),
      cmocka_unit_test(calls_of_preemption_and_search),
      cmocka_unit_test(reports_of_metrics),
      cmocka_unit_test(calls_about_checkpoints),
      cmocka_unit_test(a_checkpoint_may_have_many_files),
      cmocka_unit_test(calls_of_unmanaged_trials),
      cmocka_unit_test(calls_of_containers),
      cmocka_unit_test(logs_and_notices),
      cmocka_unit_test(lists_and_what_is_read_back),
      cmocka_unit_test(answers_in_parts_are_one_line_each),
      cmocka_unit_test(steering),
  };
  return cmocka_run_group_tests_name("round_trip", tests, nullptr, nullptr);
}
