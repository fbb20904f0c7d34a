#include "core/launcher/cluster_task.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/base/process/environment.h"
#include "core/base/process/run_command.h"
#include "core/base/text/base64.h"
#include "core/codec/checkpoints.h"
#include "core/codec/container.h"
#include "core/config/cluster_info.h"
#include "core/launcher/entrypoint.h"
#include "core/launcher/program.h"
#include "core/master/rest/connect.h"
#include "core/storage/storage.h"
#include "core/tensorboard/files.h"

namespace det::launcher {

namespace fs = std::filesystem;

namespace fs = std::filesystem;

namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string &bytes)
      : path_((fs::temp_directory_path() / "det-context-XXXXXX").string()) {
    const Fd file(mkostemp(path_.data(), O_CLOEXEC));
    if (file.get() < 0) OsFailure{errno}.raise("making '" + path_ + "'");
    write_all(file.get(), bytes, path_);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

// Neither a member with ".." nor an absolute one leaves the directory: tar sees to that.
void unpack(const std::string &archive, const fs::path &directory) {
  const CommandResult result = run_command(
      "tar -xzf \"$DET_ARCHIVE\" -C \"$DET_DIRECTORY\" 2>&1",
      {"DET_ARCHIVE=" + archive, "DET_DIRECTORY=" + directory.string()}, std::chrono::minutes(10));
  if (result.status != 0)
    throw Error(Code::io, "unpacking the model's directory into '" + directory.string() +
                              "': tar left with " + std::to_string(result.status) + ": " +
                              result.output);
}

std::string archive_of(master::MasterSession &session, const config::ClusterInfo &cluster) {
  if (codec::has_call<codec::GetContextDirectory>(session.version()))
    return session.call(codec::GetContextDirectory{cluster.task_id}).base64;
  return session.call(codec::GetModelDefinition{cluster.trial->experiment_id}).base64;
}

// Unpacks it where the cluster's own scripts do: into DET_RUN_DIR/train/model and into the current
// directory, where the entrypoint finds its modules. Throws where the master cannot be asked, or
// what it gives cannot be unpacked.
void fetch_context_directory(const config::ClusterInfo &cluster,
                             const std::shared_ptr<Logger> &logger) {
  const auto session = master::connect_to_task_master(cluster, logger);
  const std::string text = archive_of(*session, cluster);
  if (text.empty()) return;
  const std::optional<std::string> bytes = from_base64(text);
  if (!bytes)
    throw Error(Code::corrupt, "fetching the model's directory from " + session->url() +
                                   ": the answer is no base64");
  const TemporaryFile archive(*bytes);
  const std::string run_directory = environment_variable("DET_RUN_DIR");
  const fs::path kept =
      fs::path(run_directory.empty() ? "/run/determined" : run_directory) / "train" / "model";
  fs::create_directories(kept);
  unpack(archive.path(), kept);
  unpack(archive.path(), fs::current_path());
}

struct CollectRequest {
  int64_t experiment_id = 0;
  Json storage;
  std::vector<std::string> ids;    // of checkpoints
  std::vector<std::string> globs;  // what of them goes; none: only what is left is told
  bool tensorboards = false;       // those of the experiment too
  bool is_dry = false;
};

using CollectOptions = std::map<std::string, std::string>;

// "--name value", "--name=value", "--flag".
CollectOptions collect_options(const std::vector<std::string> &arguments) {
  CollectOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--")) continue;  // how the program was called
    const size_t equals = arguments[i].find('=');
    const std::string name = arguments[i].substr(2, equals - 2);
    if (equals != std::string::npos) options[name] = arguments[i].substr(equals + 1);
    else if (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--"))
      options[name] = arguments[++i];
    else options[name] = "";
  }
  return options;
}

std::string collect_value(const CollectOptions &options, const std::string &name) {
  const auto found = options.find(name);
  if (found == options.end()) return {};
  return found->second.starts_with('/') ? read_file(found->second) : found->second;
}

// A JSON array, or names with commas between them.
std::vector<std::string> collect_list(const CollectOptions &options, const std::string &name) {
  const std::string text = collect_value(options, name);
  std::vector<std::string> list;
  if (text.starts_with('[')) {
    const Json values = parse_json(text, "--" + name);
    for (const Json &value : values) {
      if (!value.is_string())
        throw Error(Code::invalid, "reading --" + name + ": " + value.dump() + " is no text");
      list.push_back(value);
    }
  } else {
    for (size_t at = 0; at < text.size(); at = text.find(',', at) + 1) {
      const size_t end = std::min(text.find(',', at), text.size());
      list.push_back(text.substr(at, end - at));
      if (end == text.size()) break;
    }
  }
  std::erase(list, std::string());  // of an empty list that was joined and split
  return list;
}

// From a command line as masters write it: what is behind an option is a value, or the name of a
// file that has it. Throws Code::invalid.
CollectRequest read_collect_request(const std::vector<std::string> &arguments) {
  const CollectOptions options = collect_options(arguments);
  CollectRequest request;
  const std::string storage = collect_value(options, "storage-config");
  if (storage.empty())
    throw Error(Code::invalid,
                "collecting checkpoints: the master did not say where they are (--storage-config)");
  request.storage = parse_json_object(storage, "--storage-config");
  request.ids = collect_list(options, "delete");
  // Older masters name none, and mean everything.
  request.globs =
      options.contains("globs") ? collect_list(options, "globs") : std::vector<std::string>{"**/*"};
  request.tensorboards = options.contains("delete-tensorboards");
  request.is_dry = options.contains("dry-run");
  const std::string experiment = collect_value(options, "experiment-id");
  if (!experiment.empty()) request.experiment_id = parse_json(experiment, "--experiment-id");
  return request;
}

// Deletes, and tells the master what is left. Gives the exit status: 1 when something of it failed,
// which is in the log, and stopped nothing else.
int collect_for_cluster(const CollectRequest &request, const config::ClusterInfo &cluster,
                        const std::shared_ptr<Logger> &logger) {
  const std::unique_ptr<storage::Storage> storage =
      storage::make_storage(request.storage, config::shared_mount(), logger);
  int status = 0;
  const auto attempt = [&](const std::string &what, const auto &step) {
    try {
      step();
      logger->info(what);
    } catch (const Error &error) {
      logger->error(what + ": " + error.what());
      status = 1;
    }
  };
  if (request.is_dry) {
    for (const std::string &id : request.ids) logger->warning("would delete checkpoint " + id);
    return 0;
  }
  std::vector<codec::CheckpointRemains> remains;
  for (const std::string &id : request.ids)
    attempt("deleting checkpoint " + id, [&] {
      storage::check_storage_id(id);
      const storage::Resources left = storage->remove_matching(id, request.globs);
      remains.push_back({id, codec::Sizes(left.begin(), left.end())});
    });
  storage->reclaim();
  if (request.tensorboards)
    attempt("deleting the TensorBoard files of experiment " + std::to_string(request.experiment_id),
            [&] {
              tensorboard::remove_tensorboard_files(*storage, cluster.cluster_id,
                                                    request.experiment_id);
            });
  if (!remains.empty())
    attempt("telling the master what is left", [&] {
      const auto session = master::connect_to_task_master(cluster, logger);
      if (codec::has_call<codec::PatchCheckpoints>(session->version()))
        session->call(codec::PatchCheckpoints{std::move(remains)}, {.replay = http::Replay::safe});
    });
  return status;
}

// Their scripts prepare the container for Python first; our programs prepare themselves.
bool is_cluster_preparation(const std::vector<std::string> &arguments) {
  if (arguments.size() < 2 || arguments[0] != "-m") return false;
  const std::string &module = arguments[1];
  return module == "pip" || module.ends_with(".prep_container") ||
         module.ends_with(".enrich_task_logs");
}

std::vector<std::string> cluster_entrypoint(const Json &config) {
  std::vector<std::string> command = entrypoint_command(config);
  if (!command.empty()) return command;
  throw Error(Code::invalid,
              "running the trial's program: the experiment's configuration has no entrypoint");
}

[[noreturn]] void become(std::vector<std::string> command) {
  const std::filesystem::path program =
      find_program(command.front(), environment_variable("PATH"), std::filesystem::current_path());
  std::vector<char *> arguments;
  for (std::string &argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw_not_started(errno, program);
}

}  // namespace

bool is_cluster_task(const std::vector<std::string> &arguments) {
  if (arguments.empty() || environment_variable("DET_TASK_TYPE").empty() ||
      environment_variable("DET_ALLOCATION_ID").empty())
    return false;
  const bool is_module = arguments[0] == "-m" && arguments.size() > 1 &&
                         (arguments[1] == "pip" || arguments[1].starts_with("determined."));
  return is_module || arguments[0].ends_with(".py");
}

int run_cluster_task(const std::vector<std::string> &arguments,
                     const std::shared_ptr<Logger> &logger) {
  if (is_cluster_preparation(arguments)) return 0;
  const std::optional<config::ClusterInfo> cluster = config::read_cluster_info();
  if (!cluster)
    throw Error(Code::invalid,
                "running a task of a cluster: DET_MASTER is no address of a master over HTTP");
  if (cluster->trial) {
    fetch_context_directory(*cluster, logger);
    TrialLaunch trial;
    trial.command = cluster_entrypoint(cluster->trial->config);
    StandIn().add_to(trial);
    for (const auto &[name, value] : trial.environment) setenv(name.c_str(), value.c_str(), 1);
    become(trial.command);
  }
  if (cluster->task_type == "CHECKPOINT_GC")
    return collect_for_cluster(read_collect_request(arguments), *cluster, logger);
  throw Error(Code::unsupported, "running a task of type " + cluster->task_type +
                                     ": det runs trials and collects checkpoints; have the cluster "
                                     "start others in an image with Python, without "
                                     "DET_PYTHON_EXECUTABLE");
}

}  // namespace det::launcher
