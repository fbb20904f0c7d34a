#include "core/master/rest/start_rest_run.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/codec/run.h"
#include "core/codec/unmanaged.h"
#include "core/journal/run_directory.h"
#include "core/master/rest/home.h"
#include "core/master/rest/managed_trial.h"
#include "core/master/rest/unmanaged_config.h"
#include "core/master/rest/unmanaged_trial.h"

namespace det::master {

namespace fs = std::filesystem;

namespace {

// Each process that takes part in a run says so; gives the number of the storage.
std::optional<int64_t> announce(const RestPlace &place, const engine::RunInfo &info) {
  MasterSession &session = *place.session;
  if (!codec::has_call<codec::StartRun>(session.version())) return std::nullopt;
  codec::StartRun call{.trial_id = info.trial_id};
  if (!place.storage.is_null()) call.checkpoint_storage = storage_for_master(place.storage);
  return session.call(std::move(call), repeatable).storage_id;
}

Json number_or_null(std::optional<int64_t> number) { return number ? Json(*number) : Json(); }

RestRun take_part(const RestPlace &place, const engine::RunInfo &info, bool managed) {
  const std::optional<int64_t> storage_id = announce(place, info);
  const fs::path home = rest_home(place.session->url());
  const int rank = place.ranks.rank;
  const JournalKey key{info.trial_id, info.run_id, rank, make_uuid()};
  const fs::path directory = journal::run_directory(home, info.trial_id, info.run_id, rank);
  OwnerLock owner =
      journal::make_run_directory(home, key,
                                  {.about = {{"master", place.session->url()},
                                             {"managed", managed},
                                             {"task_id", info.task_id},
                                             {"allocation_id", info.allocation_id},
                                             {"storage_id", number_or_null(storage_id)}},
                                   .has_predecessors = true});
  return {info,       managed,   rank,           place.ranks.size,
          storage_id, directory, key.journal_id, std::move(owner)};
}

codec::Experiment find_or_make_experiment(MasterSession &session, const UnmanagedRequest &request,
                                          const Json &config) {
  codec::CreateExperiment create{.config = to_wire(config)};
  const std::string &external = request.external_experiment_id.empty()
                                    ? request.external_trial_id
                                    : request.external_experiment_id;
  if (external.empty()) return session.call(std::move(create)).experiment;
  return session.call(codec::PutExperiment{external, std::move(create)}, repeatable).experiment;
}

// Masters of 0.38 cannot find a trial again by PUT once it has metadata.
codec::Trial find_trial(MasterSession &session, const UnmanagedRequest &request) {
  const std::string &experiment = request.external_experiment_id.empty()
                                      ? request.external_trial_id
                                      : request.external_experiment_id;
  return session.call(codec::GetTrialByExternalId{experiment, request.external_trial_id}).trial;
}

// A trial as the master has it, whose hyperparameters are those of the request where that made or
// changed it.
struct FoundTrial {
  codec::Trial trial;
  bool has_given_hparams = false;
};

FoundTrial find_or_make_trial(MasterSession &session, const UnmanagedRequest &request,
                              int64_t experiment_id) {
  codec::CreateUnmanagedTrial create{.experiment_id = experiment_id};
  if (request.hparams.is_object()) create.hparams = request.hparams;
  if (request.external_trial_id.empty()) return {session.call(std::move(create)).trial, true};
  try {
    codec::PutTrial put{std::move(create), request.external_trial_id};
    return {session.call(std::move(put), repeatable).trial, true};
  } catch (const Error &error) {
    if (error.http_status != 500) throw;
    try {
      return {find_trial(session, request)};
    } catch (const Error &) {
      throw error;  // says more
    }
  }
}

FoundTrial trial_to_run(const RestPlace &place, const UnmanagedRequest &request, Json &config) {
  MasterSession &session = *place.session;
  if (request.trial_id != 0) {
    codec::Trial trial = session.call(codec::GetTrial{request.trial_id}).trial;
    config = request.config.is_object() ? request.config : Json::object();
    return {std::move(trial)};
  }
  config = unmanaged_config(request.config, request.name, place.storage, session.version());
  const codec::Experiment experiment = find_or_make_experiment(session, request, config);
  return find_or_make_trial(session, request, experiment.id);
}

}  // namespace

std::unique_ptr<engine::RunBackend> start_managed_run(const RestPlace &place,
                                                      const config::ClusterInfo &cluster) {
  if (!cluster.trial)
    throw Error(Code::unsupported,
                "starting a run in a task of type " + cluster.task_type + ": only a TRIAL has one");
  const config::ClusterTrial &trial = *cluster.trial;
  engine::RunInfo info;
  info.experiment_id = trial.experiment_id;
  info.trial_id = trial.trial_id;
  info.run_id = trial.run_id;
  info.trial_seed = trial.trial_seed;
  info.hparams = trial.hparams;
  info.config = trial.config;
  info.latest_checkpoint = cluster.latest_checkpoint;
  info.steps_completed = trial.steps_completed;
  info.task_id = cluster.task_id;
  info.allocation_id = cluster.allocation_id;
  info.cluster_id = cluster.cluster_id;
  return std::make_unique<ManagedTrial>(place.session, take_part(place, info, true), place.logger);
}

std::unique_ptr<engine::RunBackend> start_unmanaged_run(const RestPlace &place,
                                                        const UnmanagedRequest &request) {
  MasterSession &session = *place.session;
  if (!codec::has_call<codec::StartTrial>(session.version()))
    throw Error(Code::unsupported,
                "starting a trial on " + session.url() + ": a master of version " +
                    session.master().version +
                    " only knows trials that its cluster starts; have it start this program, or "
                    "use a newer master");
  engine::RunInfo info;
  const FoundTrial found = trial_to_run(place, request, info.config);
  const codec::Trial &trial = found.trial;
  info.experiment_id = trial.experiment_id;
  info.trial_id = trial.id;
  info.task_id = info.allocation_id = trial.task_id;
  // As they were given: a master may write the same numbers in another way.
  const bool is_given =
      request.hparams.is_object() && (found.has_given_hparams || request.hparams == trial.hparams);
  info.hparams = is_given ? request.hparams : trial.hparams;
  info.cluster_id = session.master().cluster_id;

  // Not sent again when its answer got lost: each time is another run.
  const auto started = session.call(codec::StartTrial{trial.id});
  info.run_id = started.run_id;
  info.latest_checkpoint = started.latest_checkpoint;
  info.steps_completed = started.steps_completed;

  RestRun run = take_part(place, info, false);
  session.call(codec::PatchTrial{trial.id, codec::TrialState::running}, repeatable);
  return std::make_unique<UnmanagedTrial>(place.session, std::move(run), place.logger);
}

std::unique_ptr<engine::RunBackend> join_unmanaged_run(const RestPlace &place,
                                                       const engine::RunInfo &info) {
  return std::make_unique<UnmanagedTrial>(place.session, take_part(place, info, false),
                                          place.logger);
}

}  // namespace det::master
