#include "core/config/cluster_info.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/config/master_location.h"
#include "core/config/master_url.h"

namespace det::config {

namespace fs = std::filesystem;

namespace {

// What a cluster tells about a task, under the keys of its files, wherever it was found.
// A key of a file, and the variable with the same value.
struct FactName {
  const char *key;
  const char *variable;
  bool is_json;    // in the variable; else a text
  bool is_needed;  // variables without it are incomplete
};

// The facts of one file, or those of the variables. Reading one throws Code::corrupt naming file
// and key, or Code::invalid naming the variable. Values are never quoted: some are tokens.
class TaskFacts {
 public:
  // None where there is no such file.
  static std::optional<TaskFacts> from_file(const std::filesystem::path &file);

  // The variables that are there. Adds those that are needed and not there to `missing`.
  template <class Names>
  static TaskFacts from_variables(const Names &names, std::vector<std::string> &missing) {
    TaskFacts facts;
    for (const FactName &name : names) facts.add_variable(name, missing);
    return facts;
  }

  // Null counts as absent.
  bool has(const std::string &key) const;

  std::string text(const std::string &key) const;
  std::string optional_text(const std::string &key) const;  // empty: none
  std::string name(const std::string &key) const;           // a text that must not be empty
  int64_t integer(const std::string &key, int64_t least) const;
  Json object(const std::string &key) const;
  std::vector<int64_t> integers(const std::string &key, int64_t least) const;
  std::vector<std::string> texts(const std::string &key) const;

  // Throws: the fact under `key` is not what it should be.
  [[noreturn]] void refuse(const std::string &key, const std::string &why) const;

 private:
  void add_variable(const FactName &name, std::vector<std::string> &missing);
  const Json &value(const std::string &key, bool (Json::*is_type)() const noexcept,
                    const char *type) const;

  std::string file_;  // empty: variables
  Json values_ = Json::object();
  std::vector<FactName> variables_;
};

std::optional<TaskFacts> TaskFacts::from_file(const fs::path &file) {
  std::string text;
  try {
    text = read_file(file);
  } catch (const Error &error) {
    if (error.os_errno == ENOENT || error.os_errno == ENOTDIR) return std::nullopt;
    throw;
  }
  TaskFacts facts;
  facts.file_ = "'" + file.string() + "'";
  try {
    facts.values_ = parse_json_object(text, facts.file_);
  } catch (const Error &) {
    // Without the parser's words: they quote what they stumble over, which may be a token.
    throw Error(Code::corrupt, "reading " + facts.file_ + ": " +
                                   (text.empty() ? "it is empty" : "it is no whole JSON object") +
                                   "; a cluster writes this file before it starts the process");
  }
  return facts;
}

void TaskFacts::add_variable(const FactName &name, std::vector<std::string> &missing) {
  variables_.push_back(name);
  const char *text = std::getenv(name.variable);
  if (text == nullptr || (*text == '\0' && name.is_json)) {
    if (name.is_needed) missing.emplace_back(name.variable);
    return;
  }
  try {
    values_[name.key] = name.is_json ? parse_json(text, name.variable) : Json(text);
  } catch (const Error &) {
    refuse(name.key, "it is no JSON");
  }
}

bool TaskFacts::has(const std::string &key) const {
  const auto found = values_.find(key);
  return found != values_.end() && !found->is_null();
}

void TaskFacts::refuse(const std::string &key, const std::string &why) const {
  if (!file_.empty())
    throw Error(Code::corrupt, "reading '" + key + "' of " + file_ + ": " + why +
                                   "; a cluster writes this file before it starts the process");
  const auto name = std::find_if(variables_.begin(), variables_.end(),
                                 [&](const FactName &fact) { return fact.key == key; });
  throw Error(Code::invalid,
              std::string("reading the variable ") +
                  (name != variables_.end() ? name->variable : key) + ": " + why +
                  "; a cluster sets it, so do not change it, or unset DET_ALLOCATION_ID where no "
                  "cluster started this process");
}

const Json &TaskFacts::value(const std::string &key, bool (Json::*is_type)() const noexcept,
                             const char *type) const {
  if (!has(key)) refuse(key, "it is missing");
  const Json &found = values_[key];
  if (!(found.*is_type)())
    refuse(key, std::string("expected ") + type + ", got " + found.type_name());
  return found;
}

std::string TaskFacts::text(const std::string &key) const {
  return value(key, &Json::is_string, "a text").get<std::string>();
}

std::string TaskFacts::optional_text(const std::string &key) const {
  return has(key) ? text(key) : "";
}

std::string TaskFacts::name(const std::string &key) const {
  std::string name = text(key);
  if (name.empty()) refuse(key, "it is empty");
  return name;
}

int64_t TaskFacts::integer(const std::string &key, int64_t least) const {
  const Json &number = value(key, &Json::is_number_integer, "a whole number");
  if (number.get<int64_t>() < least)  // one that is too large wraps to below 0
    refuse(key, "expected a whole number from " + std::to_string(least));
  return number.get<int64_t>();
}

Json TaskFacts::object(const std::string &key) const {
  return value(key, &Json::is_object, "an object");
}

std::vector<int64_t> TaskFacts::integers(const std::string &key, int64_t least) const {
  std::vector<int64_t> integers;
  for (const Json &number : value(key, &Json::is_array, "a list of whole numbers")) {
    if (!number.is_number_integer() || number.get<int64_t>() < least)
      refuse(key, "expected a list of whole numbers from " + std::to_string(least));
    integers.push_back(number.get<int64_t>());
  }
  return integers;
}

std::vector<std::string> TaskFacts::texts(const std::string &key) const {
  std::vector<std::string> texts;
  for (const Json &text : value(key, &Json::is_array, "a list of texts")) {
    if (!text.is_string()) refuse(key, "expected a list of texts");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

constexpr std::array<FactName, 11> cluster_names{{
    {"master_url", "DET_MASTER", false, true},
    {"cluster_id", "DET_CLUSTER_ID", false, true},
    {"agent_id", "DET_AGENT_ID", false, true},
    {"slot_ids", "DET_SLOT_IDS", true, true},
    {"task_id", "DET_TASK_ID", false, true},
    {"allocation_id", "DET_ALLOCATION_ID", false, true},
    {"session_token", "DET_SESSION_TOKEN", false, true},
    {"task_type", "DET_TASK_TYPE", false, true},
    {"master_cert_name", "DET_MASTER_CERT_NAME", false, false},
    {"master_cert_file", "DET_MASTER_CERT_FILE", false, false},
    {"latest_checkpoint", "DET_LATEST_CHECKPOINT", false, false},
}};

constexpr std::array<FactName, 7> trial_names{{
    {"trial_id", "DET_TRIAL_ID", true, true},
    {"experiment_id", "DET_EXPERIMENT_ID", true, true},
    {"trial_seed", "DET_TRIAL_SEED", true, true},
    {"trial_run_id", "DET_TRIAL_RUN_ID", true, true},
    {"steps_completed", "DET_STEPS_COMPLETED", true, true},
    {"hparams", "DET_HPARAMS", true, true},
    {"config", "DET_EXPERIMENT_CONFIG", true, true},
}};

bool is_trial(const ClusterInfo &info) { return info.task_type == "TRIAL"; }

void read_cluster(const TaskFacts &facts, ClusterInfo &info) {
  info.cluster_id = facts.text("cluster_id");
  info.agent_id = facts.text("agent_id");
  info.task_id = facts.name("task_id");
  info.allocation_id = facts.name("allocation_id");
  info.task_type = facts.name("task_type");
  info.session_token = facts.text("session_token");
  info.cert_name = facts.optional_text("master_cert_name");
  info.cert_file = facts.optional_text("master_cert_file");
  info.slot_ids = facts.integers("slot_ids", 0);
  if (!info.allocation_id.starts_with(info.task_id + "."))
    facts.refuse("allocation_id",
                 "'" + info.allocation_id + "' is not of the task '" + info.task_id + "'");
  const std::string checkpoint = facts.optional_text("latest_checkpoint");
  if (is_trial(info) && !checkpoint.empty()) info.latest_checkpoint = checkpoint;

  try {
    info.master_url = canonical_master_url(facts.name("master_url"), "it");
  } catch (const Error &) {
    facts.refuse("master_url", "it is no address of a master, http(s)://HOST:PORT");
  }
}

ClusterTrial read_trial(const TaskFacts &facts) {
  return {.trial_id = facts.integer("trial_id", 1),
          .experiment_id = facts.integer("experiment_id", 1),
          .trial_seed = facts.integer("trial_seed", 0),
          .run_id = facts.integer("trial_run_id", 1),
          .steps_completed = facts.integer("steps_completed", 0),
          .hparams = facts.object("hparams"),
          .config = facts.object("config")};
}

void read_rendezvous(const TaskFacts &facts, ClusterInfo &info) {
  info.met = true;
  info.container_addresses = facts.texts("container_addrs");
  info.container_rank = facts.integer("container_rank", 0);
  const size_t containers = info.container_addresses.size();
  if (static_cast<size_t>(info.container_rank) >= containers)
    facts.refuse("container_rank", "container_addrs has only " + std::to_string(containers));
  if (facts.has("container_slot_counts")) {
    info.container_slot_counts = facts.integers("container_slot_counts", 0);
    if (info.container_slot_counts.size() != containers)
      facts.refuse("container_slot_counts",
                   "container_addrs has " + std::to_string(containers) + " containers");
  } else if (containers == 1) {
    info.container_slot_counts = {static_cast<int64_t>(info.slot_ids.size())};
  }
}

// Tasks other than trials are alone.
void meet_nobody(ClusterInfo &info) {
  info.met = true;
  info.container_addresses = {"127.0.0.1"};
  info.container_slot_counts = {static_cast<int64_t>(info.slot_ids.size())};
}

std::optional<ClusterInfo> from_files(const fs::path &directory) {
  const auto cluster = TaskFacts::from_file(directory / "cluster.json");
  if (!cluster) return std::nullopt;
  ClusterInfo info;
  info.origin = "'" + directory.string() + "'";
  info.from_files = true;
  read_cluster(*cluster, info);
  if (is_trial(info)) {
    const auto trial = TaskFacts::from_file(directory / "trial.json");
    if (!trial) cluster->refuse("task_type", "it is TRIAL, but there is no trial.json beside it");
    info.trial = read_trial(*trial);
    const auto rendezvous = TaskFacts::from_file(directory / "rendezvous.json");
    if (rendezvous) read_rendezvous(*rendezvous, info);
  } else {
    meet_nobody(info);
  }
  const auto resources = TaskFacts::from_file(directory / "resources.json");
  if (resources) info.gpu_uuids = resources->texts("gpu_uuids");
  return info;
}

// The variables that only a cluster sets, with a master over HTTP.
bool variables_are_of_a_cluster() {
  if (environment_variable("DET_ALLOCATION_ID").empty() ||
      environment_variable("DET_TASK_ID").empty())
    return false;
  const std::string master = environment_variable("DET_MASTER");
  return !master.empty() && !locate_master(master).embedded;
}

std::optional<ClusterInfo> from_variables() {
  if (!variables_are_of_a_cluster()) return std::nullopt;
  std::vector<std::string> missing;
  const TaskFacts cluster = TaskFacts::from_variables(cluster_names, missing);
  std::optional<TaskFacts> trial;
  if (environment_variable("DET_TASK_TYPE") == "TRIAL")
    trial = TaskFacts::from_variables(trial_names, missing);
  if (!missing.empty()) {
    std::string names;
    for (const std::string &name : missing) names += (names.empty() ? "" : ", ") + name;
    throw Error(Code::invalid,
                "reading what the cluster says of this task: DET_ALLOCATION_ID is set, but not " +
                    names + "; set them too, or unset it where no cluster started this process");
  }
  ClusterInfo info;
  info.origin = "the variables DET_*";
  read_cluster(cluster, info);
  if (trial) info.trial = read_trial(*trial);
  else meet_nobody(info);
  return info;
}

}  // namespace

std::optional<ClusterInfo> read_cluster_info() {
  const std::string directory = environment_variable("DET_INFO_DIR");
  std::optional<ClusterInfo> info =
      from_files(directory.empty() ? "/run/determined/info" : directory);
  if (!info) info = from_variables();
  if (info) info->user_token = environment_variable("DET_USER_TOKEN");
  return info;
}

std::optional<std::string> shared_mount() {
  constexpr const char *mounted = "/determined_shared_fs";
  std::error_code absent;
  return fs::is_directory(mounted, absent) ? std::optional<std::string>(mounted) : std::nullopt;
}

}  // namespace det::config
