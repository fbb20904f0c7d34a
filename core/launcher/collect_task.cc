#include "core/launcher/collect_task.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/codec/checkpoints.h"
#include "core/master/rest/connect.h"
#include "core/storage/storage.h"
#include "core/tensorboard/files.h"

namespace det::launcher {

namespace fs = std::filesystem;

namespace {

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

}  // namespace

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

}  // namespace det::launcher
