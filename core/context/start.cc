#include "core/context/start.h"

#include <utility>

#include "core/base/command_line.h"
#include "core/base/error.h"
#include "core/config/cluster.h"
#include "core/master/embedded/embedded_master.h"
#include "core/metrics/left_behind.h"

namespace det {

namespace {

Json parse_object_or_null(const std::string &option, const char *option_name,
                          const std::string &variable, const char *variable_name) {
  if (!option.empty()) return parse_json_object(option, option_name);
  if (!variable.empty()) return parse_json_object(variable, variable_name);
  return nullptr;
}

// A JSON object, or a path or URI.
std::unique_ptr<Storage> storage_from_option(const std::string &option,
                                             std::shared_ptr<Logger> logger) {
  const size_t first = option.find_first_not_of(" \t\n");
  if (first == option.npos || option[first] != '{')
    return make_storage_from_uri(option, std::move(logger));
  const Json config = parse_json_object(option, "checkpoint_storage");
  if (config.value("type", Json()) == "shared_fs")
    throw Error(Code::invalid,
                "reading checkpoint_storage: an object of type shared_fs is not allowed here; give "
                "the directory itself as a path");
  return make_storage(config, std::nullopt, std::move(logger));
}

std::unique_ptr<Storage> storage_from_config(const Json &config, std::shared_ptr<Logger> logger) {
  if (!config.is_object()) return nullptr;
  const auto section = config.find("checkpoint_storage");
  if (section == config.end() || section->is_null()) return nullptr;
  if (section->is_string()) return make_storage_from_uri(*section, std::move(logger));
  return make_storage(*section, std::nullopt, std::move(logger));
}

MasterLocation embedded_location(const std::string &option) {
  if (option.empty() && read_cluster_file())
    throw Error(Code::unsupported,
                "starting inside a cluster: a master over HTTP is not in this release; give a "
                "directory as master to use an embedded store");
  MasterLocation location = locate_master(option);
  if (!location.embedded)
    throw Error(Code::unsupported, "starting with the master '" + location.url +
                                       "': a master over HTTP is not in this release; give a "
                                       "directory, or unset DET_MASTER");
  return location;
}

RunRequest request_of(const CoreOptions &options) {
  const TrialVariables variables = read_trial_variables();
  RunRequest request;
  request.trial_id = options.trial_id != 0 ? options.trial_id : variables.trial_id;
  request.external_id = options.external_id.empty() ? variables.external_id : options.external_id;
  request.name = options.name.empty() ? program_name() : options.name;
  request.config = parse_object_or_null(options.config_text, "config_json", variables.config_text,
                                        "the variable DET_EXPERIMENT_CONFIG");
  request.hparams = parse_object_or_null(options.hparams_text, "hparams_json",
                                         variables.hparams_text, "the variable DET_HPARAMS");
  request.hparams_given = request.hparams.is_object();
  request.command = command_line();
  if (options.name.empty() && request.config.is_object() && request.config.contains("name") &&
      request.config["name"].is_string())
    request.name = request.config["name"];
  return request;
}

const char *mode_name(PreemptMode mode) {
  switch (mode) {
    case PreemptMode::workers_ask_chief:
      return "DET_PREEMPT_WORKERS_ASK_CHIEF";
    case PreemptMode::chief_only:
      return "DET_PREEMPT_CHIEF_ONLY";
    case PreemptMode::workers_ask_master:
      return "DET_PREEMPT_WORKERS_ASK_MASTER";
  }
  return "unknown";
}

Json parse_introduction(const std::vector<std::string> &introductions, size_t rank) {
  return parse_json_object(introductions[rank], "the introduction of rank " + std::to_string(rank));
}

}  // namespace

std::string introduction(const CoreOptions &options, const Ranks &ranks) {
  if (ranks.size == 1) return {};
  return to_wire({{"node", ranks.cross_rank},
                  {"process", ProcessIdentity::current().to_json()},
                  {"preempt_mode", mode_name(options.preempt_mode)}});
}

void check_agreement(const std::vector<std::string> &introductions) {
  if (introductions.size() == 1) return;
  const auto mode_of = [&](size_t rank) {
    return parse_introduction(introductions, rank).at("preempt_mode").get<std::string>();
  };
  const std::string chief = mode_of(0);
  for (size_t rank = 1; rank < introductions.size(); ++rank)
    if (const std::string other = mode_of(rank); other != chief)
      throw Error(Code::invalid, "starting: preempt_mode is " + chief + " on rank 0 and " + other +
                                     " on rank " + std::to_string(rank) +
                                     "; give the same to all ranks");
}

std::string start_run(const CoreOptions &options, const std::vector<std::string> &introductions,
                      const std::shared_ptr<Logger> &logger, Place &place) {
  place.location = embedded_location(options.master);
  RunRequest request = request_of(options);
  request.store_directory = place.location.store_directory();
  request.log = logger;
  for (size_t rank = 1; rank < introductions.size(); ++rank) {
    const Json worker = parse_introduction(introductions, rank);
    request.workers.push_back(
        {worker.at("node"), ProcessIdentity::from_json(worker.at("process"))});
  }

  // What the arguments say about storage is checked before a run exists.
  place.storage = options.checkpoint_storage.empty()
                      ? storage_from_config(request.config, logger)
                      : storage_from_option(options.checkpoint_storage, logger);
  try {
    recover_runs(request.store_directory, *logger);
  } catch (const Error &e) {
    logger->warning(std::string(e.what()) + "; `det sync` tries again");  // not this run's trouble
  }
  place.master = start_embedded_run(request);
  const RunInfo &run = place.master->info();
  if (!place.storage) place.storage = storage_from_config(run.config, logger);
  if (!place.storage) place.storage = make_storage_from_uri(place.location.home.string(), logger);
  if (request.workers.empty()) return {};
  const RunTicket ticket{request.store_directory, place.master->journal_id(),
                         ProcessIdentity::current(), run};
  return to_wire({{"home", place.location.home.string()},
                  {"storage", place.storage->config()},
                  {"run", to_json(ticket)}});
}

void join_run(const std::string &ticket, const CoreOptions &options, const Ranks &ranks,
              const std::shared_ptr<Logger> &logger, Place &place) {
  const Json told = parse_json_object(ticket, "what rank 0 tells of the run");
  place.location.home = told.at("home").get<std::string>();
  place.master = join_embedded_run(ticket_from_json(told.at("run")), ranks.rank, logger);
  place.storage = make_storage(told.at("storage"), std::nullopt, logger);
  const std::string unreachable = place.master->unreachable();
  if (unreachable.empty()) return;
  if (options.preempt_mode == PreemptMode::workers_ask_master)
    throw Error(Code::unsupported, "starting in mode DET_PREEMPT_WORKERS_ASK_MASTER: " +
                                       unreachable + ", or use DET_PREEMPT_WORKERS_ASK_CHIEF");
  logger->info(unreachable);
}

}  // namespace det
