#include "core/comm/join/launch.h"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/expect_error.h"

using namespace det;
using namespace det::comm;

namespace {

using Variables = std::map<std::string, std::string>;

// The environment of this process has these variables of launchers and no others.
void set_variables(const Variables &variables) {
  std::vector<std::string> others;
  for (char **entry = environ; *entry != nullptr; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
    for (const char *prefix : {"DET_", "HOROVOD_", "OMPI_", "PMI", "MPI_", "MV2_", "SLURM_", "RANK",
                               "WORLD_SIZE", "LOCAL_", "GROUP_", "CROSS_", "TF_CONFIG"})
      if (name.starts_with(prefix)) others.push_back(name);
  }
  for (const std::string &name : others) unsetenv(name.c_str());
  for (const auto &[name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
}

Launch launch_with(const Variables &variables) {
  set_variables(variables);
  return launch_from_environment();
}

void assert_ranks(const Launch &launch, const Ranks &expected) {
  const Ranks &ranks = launch.ranks;
  assert_int_equal(ranks.rank, expected.rank);
  assert_int_equal(ranks.size, expected.size);
  assert_int_equal(ranks.local_rank, expected.local_rank);
  assert_int_equal(ranks.local_size, expected.local_size);
  assert_int_equal(ranks.cross_rank, expected.cross_rank);
  assert_int_equal(ranks.cross_size, expected.cross_size);
}

// A message of this code has all these words.
void assert_refused(const Variables &variables, Code code,
                    std::initializer_list<const char *> words) {
  const std::string message = expect_error(code, [&] { launch_with(variables); });
  for (const char *word : words)
    if (!contains(message, word)) fail_msg("'%s' is not in '%s'", word, message.c_str());
}

Variables with(Variables variables, const Variables &more) {
  for (const auto &[name, value] : more) variables[name] = value;
  return variables;
}
Variables without(Variables variables, const std::string &name) {
  variables.erase(name);
  return variables;
}

const Variables torch{{"RANK", "5"},       {"WORLD_SIZE", "6"},       {"LOCAL_RANK", "1"},
                      {"GROUP_RANK", "2"}, {"GROUP_WORLD_SIZE", "3"}, {"LOCAL_WORLD_SIZE", "2"}};
const Variables deepspeed{{"RANK", "5"},       {"WORLD_SIZE", "6"}, {"LOCAL_RANK", "1"},
                          {"CROSS_RANK", "2"}, {"CROSS_SIZE", "3"}, {"LOCAL_SIZE", "2"}};
const Variables horovod{{"HOROVOD_RANK", "5"},       {"HOROVOD_SIZE", "6"},
                        {"HOROVOD_LOCAL_RANK", "1"}, {"HOROVOD_LOCAL_SIZE", "2"},
                        {"HOROVOD_CROSS_RANK", "2"}, {"HOROVOD_CROSS_SIZE", "3"}};
const Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"PMIX_RANK", "3"}};
// As `srun -n 7` gives them on three nodes, to the first task of the second.
const Variables slurm{{"SLURM_JOB_ID", "2"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_PROCID", "3"},
                      {"SLURM_LOCALID", "0"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_NTASKS", "7"},
                      {"SLURM_STEP_NUM_TASKS", "7"},
                      {"SLURM_STEP_NUM_NODES", "3"},
                      {"SLURM_NNODES", "3"},
                      {"SLURM_STEP_TASKS_PER_NODE", "3,2(x2)"},
                      {"SLURM_STEP_NODELIST", "node[07-09]"},
                      {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}};

void nothing_set_is_one_process(void **) {
  const Launch launch = launch_with({});
  assert_ranks(launch, {});
  assert_string_equal(launch.launcher.c_str(), "");
  assert_false(launch.through_mpi);
}

void frameworks_are_recognised(void **) {
  const std::pair<const char *, Variables> all[] = {
      {"Horovod", horovod}, {"torch.distributed", torch}, {"DeepSpeed", deepspeed}};
  for (const auto &[launcher, variables] : all) {
    const Launch launch = launch_with(with(variables, {{"DET_CHIEF_IP", "10.0.0.9"}}));
    assert_ranks(launch, {5, 6, 1, 2, 2, 3});
    assert_string_equal(launch.launcher.c_str(), launcher);
    assert_string_equal(launch.chief_ip.c_str(), "10.0.0.9");
    assert_false(launch.through_mpi);
  }
}

void the_chief_may_have_an_address_of_ipv6(void **) {
  for (const auto &[given, host] :
       std::initializer_list<std::pair<const char *, const char *>>{{"[::1]:2222", "::1"},
                                                                    {"[::1]", "::1"},
                                                                    {"::1", "::1"},
                                                                    {"a.b:2222", "a.b"},
                                                                    {"a", "a"}}) {
    const std::string workers = R"({"cluster": {"worker": [")" + std::string(given) +
                                R"(", "x:1"]}, "task": {"type": "worker", "index": 1}})";
    assert_string_equal(launch_with({{"TF_CONFIG", workers}}).chief_ip.c_str(), host);
  }
  const Variables chief{{"DET_CHIEF_IP", "[::1]"}};
  assert_string_equal(launch_with(with(torch, chief)).chief_ip.c_str(), "::1");
  assert_string_equal(launch_from_torch("[fe80::1%eth0]").chief_ip.c_str(), "fe80::1%eth0");
}

void frameworks_come_before_what_started_them(void **) {
  for (const Variables &outer : {open_mpi, slurm})
    assert_string_equal(launch_with(with(outer, torch)).launcher.c_str(), "torch.distributed");
  assert_string_equal(launch_with(with(slurm, open_mpi)).launcher.c_str(), "Open MPI");
}

void every_missing_variable_is_named(void **) {
  for (const Variables &complete : {torch, deepspeed, horovod, open_mpi}) {
    for (const auto &[name, value] : complete) {
      if (name == "HOROVOD_RANK" || name == "PMIX_RANK") continue;  // not what it is known by
      if (name == "RANK" || name == "WORLD_SIZE") continue;         // see below
      assert_refused(without(complete, name), Code::not_found, {name.c_str()});
    }
  }
  for (const char *name : {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"})
    assert_refused(without(slurm, name), Code::not_found, {name});
  assert_refused(without(slurm, "SLURM_STEP_TASKS_PER_NODE"), Code::not_found,
                 {"SLURM_STEP_TASKS_PER_NODE"});
  assert_refused(without(torch, "RANK"), Code::not_found, {"RANK"});
  assert_refused({{"PMI_RANK", "1"}}, Code::not_found, {"PMI_SIZE"});
  assert_refused({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}}, Code::not_found,
                 {"MPI_LOCALNRANKS"});
}

void a_world_described_by_half_is_not_one_process(void **) {
  assert_refused({{"RANK", "1"}, {"WORLD_SIZE", "4"}}, Code::not_found, {"LOCAL_RANK"});
  assert_ranks(launch_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), {});
}

void contradictions_name_both_variables(void **) {
  assert_refused(with(torch, {{"RANK", "6"}}), Code::invalid, {"RANK=6", "WORLD_SIZE=6"});
  assert_refused(with(torch, {{"LOCAL_RANK", "2"}}), Code::invalid,
                 {"LOCAL_RANK=2", "LOCAL_WORLD_SIZE=2"});
  assert_refused(with(deepspeed, {{"LOCAL_SIZE", "8"}}), Code::invalid,
                 {"LOCAL_SIZE=8", "WORLD_SIZE=6"});
  assert_refused(with(horovod, {{"HOROVOD_CROSS_SIZE", "7"}}), Code::invalid,
                 {"HOROVOD_CROSS_SIZE=7", "HOROVOD_SIZE=6"});
  assert_refused(with(open_mpi, {{"PMIX_RANK", "1"}}), Code::invalid,
                 {"OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=1"});
  assert_refused(with(slurm, {{"SLURM_NTASKS", "8"}}), Code::invalid,
                 {"SLURM_NTASKS=8", "SLURM_STEP_NUM_TASKS=7"});
  assert_refused(with(slurm, {{"SLURM_PROCID", "7"}}), Code::invalid, {"SLURM_PROCID=7"});
  assert_refused(with(slurm, {{"SLURM_NODEID", "3"}}), Code::invalid, {"SLURM_NODEID=3"});
  assert_refused(with(slurm, {{"SLURM_LOCALID", "2"}}), Code::invalid, {"SLURM_LOCALID=2"});
  assert_refused(with(slurm, {{"SLURM_STEP_TASKS_PER_NODE", "4,3"}}), Code::invalid,
                 {"SLURM_STEP_TASKS_PER_NODE=2", "SLURM_STEP_NUM_NODES=3"});
  assert_refused(with(slurm, {{"SLURM_STEP_TASKS_PER_NODE", "3(x3)"}}), Code::invalid,
                 {"SLURM_STEP_TASKS_PER_NODE=9", "SLURM_NTASKS=7"});
}

void values_that_are_no_ranks_are_refused(void **) {
  for (const char *value : {"-1", "x", "2147483648", "1 ", "1e3"})
    assert_refused(with(torch, {{"RANK", value}}), Code::invalid, {"RANK", value});
}

void mpi_launchers_leave_the_ranks_to_mpi(void **) {
  Launch launch = launch_with(open_mpi);
  assert_string_equal(launch.launcher.c_str(), "Open MPI");
  assert_true(launch.through_mpi);
  assert_ranks(launch, {3, 4, 1, 2, 0, 0});

  launch = launch_with({{"MV2_COMM_WORLD_RANK", "1"},
                        {"MV2_COMM_WORLD_SIZE", "2"},
                        {"MV2_COMM_WORLD_LOCAL_RANK", "1"},
                        {"MV2_COMM_WORLD_LOCAL_SIZE", "2"},
                        {"PMI_RANK", "1"},
                        {"PMI_SIZE", "2"}});
  assert_string_equal(launch.launcher.c_str(), "MVAPICH2");
  assert_true(launch.through_mpi);
  assert_ranks(launch, {1, 2, 1, 2, 0, 1});

  const Variables pmi{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};
  for (const Variables &local : {Variables{{"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}},
                                 Variables{{"PMI_LOCAL_RANK", "1"}, {"PMI_LOCAL_SIZE", "2"}}}) {
    launch = launch_with(with(pmi, local));
    assert_string_equal(launch.launcher.c_str(), "MPICH");
    assert_true(launch.through_mpi);
    assert_ranks(launch, {1, 2, 1, 2, 0, 1});
  }
  assert_ranks(launch_with(pmi), {1, 2, 0, 0, 0, 0});

  launch = launch_with({{"PMIX_RANK", "3"}});  // the size is known to the library alone
  assert_string_equal(launch.launcher.c_str(), "PMIx");
  assert_true(launch.through_mpi);
  assert_ranks(launch, {3, 0, 0, 0, 0, 0});
}

void one_process_of_an_mpi_launcher_needs_no_mpi(void **) {
  const Launch launch = launch_with({{"OMPI_COMM_WORLD_RANK", "0"},
                                     {"OMPI_COMM_WORLD_SIZE", "1"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}});
  assert_ranks(launch, {});
  assert_false(launch.through_mpi);
}

void srun_tells_what_its_mpi_plugins_do_not(void **) {
  const std::pair<const char *, Variables> plugins[] = {
      {"PMIx", {{"PMIX_RANK", "3"}}}, {"MPICH", {{"PMI_RANK", "3"}, {"PMI_SIZE", "7"}}}};
  for (const auto &[launcher, variables] : plugins) {
    const Launch launch = launch_with(with(slurm, variables));
    assert_string_equal(launch.launcher.c_str(), launcher);
    assert_true(launch.through_mpi);
    assert_ranks(launch, {3, 7, 0, 2, 1, 3});
  }
  assert_refused(with(slurm, {{"PMIX_RANK", "4"}}), Code::invalid,
                 {"PMIX_RANK=4", "SLURM_PROCID=3"});
  assert_refused(with(slurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}}), Code::invalid,
                 {"PMI_SIZE=8", "SLURM_NTASKS=7"});
}

// mpirun starts its helpers with srun, one on each node, and these the ranks.
void slurm_variables_of_mpis_own_helpers_do_not_count(void **) {
  const Launch launch = launch_with(with(with(slurm, open_mpi), {{"SLURM_PROCID", "1"}}));
  assert_string_equal(launch.launcher.c_str(), "Open MPI");
  assert_ranks(launch, {3, 4, 1, 2, 0, 0});
}

void tasks_of_srun_are_ranks(void **) {
  const Launch launch = launch_with(slurm);
  assert_string_equal(launch.launcher.c_str(), "Slurm");
  assert_false(launch.through_mpi);
  assert_ranks(launch, {3, 7, 0, 2, 1, 3});
}

void the_chief_of_srun_is_on_the_first_node(void **) {
  assert_string_equal(launch_with(slurm).chief_ip.c_str(), "node07");
  assert_string_equal(launch_with(with(slurm, {{"DET_CHIEF_IP", "10.0.0.7"}})).chief_ip.c_str(),
                      "10.0.0.7");
  const Variables one_node = with(
      slurm,
      {{"SLURM_NODEID", "0"}, {"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "7"}});
  assert_string_equal(launch_with(one_node).chief_ip.c_str(), "10.0.0.1");
  assert_refused(with(slurm, {{"SLURM_STEP_NODELIST", "$(reboot)"}}), Code::invalid, {"$(reboot)"});
}

void a_batch_script_is_one_process(void **) {
  const Variables batch = without(slurm, "SLURM_STEP_ID");
  assert_ranks(launch_with(batch), {});
  for (const char *step : {"batch", "4294967291", "4294967290"})
    assert_ranks(launch_with(with(batch, {{"SLURM_STEP_ID", step}})), {});
  assert_int_equal(launch_with(with(batch, {{"SLURM_STEPID", "0"}})).ranks.size, 7);
}

void a_step_of_one_task_is_one_process(void **) {
  const Launch launch =
      launch_with(with(slurm, {{"SLURM_NTASKS", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
  assert_ranks(launch, {});
}

}  // namespace

int test_launch() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(nothing_set_is_one_process),
      cmocka_unit_test(frameworks_are_recognised),
      cmocka_unit_test(the_chief_may_have_an_address_of_ipv6),
      cmocka_unit_test(frameworks_come_before_what_started_them),
      cmocka_unit_test(every_missing_variable_is_named),
      cmocka_unit_test(a_world_described_by_half_is_not_one_process),
      cmocka_unit_test(contradictions_name_both_variables),
      cmocka_unit_test(values_that_are_no_ranks_are_refused),
      cmocka_unit_test(mpi_launchers_leave_the_ranks_to_mpi),
      cmocka_unit_test(one_process_of_an_mpi_launcher_needs_no_mpi),
      cmocka_unit_test(srun_tells_what_its_mpi_plugins_do_not),
      cmocka_unit_test(slurm_variables_of_mpis_own_helpers_do_not_count),
      cmocka_unit_test(tasks_of_srun_are_ranks),
      cmocka_unit_test(the_chief_of_srun_is_on_the_first_node),
      cmocka_unit_test(a_batch_script_is_one_process),
      cmocka_unit_test(a_step_of_one_task_is_one_process),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
