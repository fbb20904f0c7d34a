#include "core/context/start.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/process.h"
#include "core/context/checkpoint/save_stage.h"
#include "core/context/start_on_store.h"
#include "core/context/start_over_http.h"

namespace det::context {

namespace {

const char *mode_name(PreemptMode mode) {
  switch (mode) {
    case PreemptMode::workers_ask_chief:
      return "DET_PREEMPT_MODE_WORKERS_ASK_CHIEF";
    case PreemptMode::chief_only:
      return "DET_PREEMPT_MODE_CHIEF_ONLY";
    case PreemptMode::workers_ask_master:
      return "DET_PREEMPT_MODE_WORKERS_ASK_MASTER";
  }
  return "unknown";
}

Json parse_introduction(const std::vector<std::string> &introductions, size_t rank) {
  return parse_json_object(introductions[rank], "the introduction of rank " + std::to_string(rank));
}

std::vector<engine::RankProcess> workers_of(const std::vector<std::string> &introductions) {
  std::vector<engine::RankProcess> workers;
  for (size_t rank = 1; rank < introductions.size(); ++rank) {
    const Json worker = parse_introduction(introductions, rank);
    workers.push_back({worker.at("node"), ProcessIdentity::from_json(worker.at("process"))});
  }
  return workers;
}

enum class Kind : char { store = 's', managed = 'm', unmanaged = 'u' };

Kind kind_in(const std::string &choice) { return static_cast<Kind>(choice.at(0)); }

Json begin_run(Kind kind, const CoreOptions &options, const std::vector<std::string> &introductions,
               const comm::Ranks &ranks, const std::shared_ptr<Logger> &logger, Place &place) {
  switch (kind) {
    case Kind::managed:
      return start_in_cluster(options, ranks, logger, place);
    case Kind::unmanaged:
      return start_unmanaged(options, ranks, logger, place);
    default:
      return start_on_store(options, workers_of(introductions), logger, place);
  }
}

void join(Kind kind, const Json &told, const CoreOptions &options, const comm::Ranks &ranks,
          const std::shared_ptr<Logger> &logger, Place &place) {
  switch (kind) {
    case Kind::managed:
      return join_in_cluster(told, options, ranks, logger, place);
    case Kind::unmanaged:
      return join_unmanaged(told, options, ranks, logger, place);
    default:
      return join_on_store(told, options, ranks, logger, place);
  }
}

// Of a ticket: what this run begins from was only finished by its start.
constexpr const char *checkpoint_key = "latest_checkpoint", *steps_key = "steps_completed";

[[noreturn]] void refuse_collection() {
  throw Error(Code::unsupported,
              "starting: this task is no trial, it is there to collect checkpoints "
              "(CHECKPOINT_GC); let DET_PYTHON_EXECUTABLE name `det`, which does that, and the "
              "experiment's entrypoint name this program");
}

// An option decides, else the cluster that started this task, else the environment.
Kind choose(const CoreOptions &options, Place &place) {
  if (options.master.empty()) {
    place.cluster = config::read_cluster_info();
    // Other tasks, such as notebooks, are no trials to their master; nobody wants one there.
    if (place.cluster && place.cluster->task_type == "CHECKPOINT_GC") refuse_collection();
    if (place.cluster && !place.cluster->trial) place.cluster.reset();
    if (place.cluster) {
      place.location = {.embedded = false, .home = {}, .url = place.cluster->master_url};
      return Kind::managed;
    }
  }
  place.location = config::locate_master(options.master);
  return place.location.embedded ? Kind::store : Kind::unmanaged;
}

}  // namespace

std::string introduction(const CoreOptions &options, const comm::Ranks &ranks) {
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

std::string choose_master(const CoreOptions &options, Place &place) {
  const Kind kind = choose(options, place);
  return static_cast<char>(kind) + place.location.url;
}

void reach_master(const std::string &choice, const comm::Ranks &ranks,
                  const std::shared_ptr<Logger> &logger, Place &place) {
  place.location.embedded = kind_in(choice) == Kind::store;
  place.location.url = choice.substr(1);
  if (kind_in(choice) == Kind::managed) reach_cluster(ranks, logger, place);
  if (kind_in(choice) == Kind::unmanaged) reach_as_user(logger, place);
}

std::string start_run(const std::string &choice, const CoreOptions &options,
                      const std::vector<std::string> &introductions, const comm::Ranks &ranks,
                      const std::shared_ptr<Logger> &logger, Place &place) {
  Json ticket = begin_run(kind_in(choice), options, introductions, ranks, logger, place);
  const std::optional<engine::CheckpointEntry> finished =
      finish_sealed_saves(*place.storage, *place.master, logger);
  if (finished && finished->steps >= place.master->info().steps_completed) {
    place.master->begin_from(*finished);
    ticket[checkpoint_key] = finished->id;
    ticket[steps_key] = finished->steps;
  }
  return to_wire(ticket);
}

void join_run(const std::string &choice, const std::string &ticket, const CoreOptions &options,
              const comm::Ranks &ranks, const std::shared_ptr<Logger> &logger, Place &place) {
  const Json told = parse_json_object(ticket, "what rank 0 tells of the run");
  join(kind_in(choice), told, options, ranks, logger, place);
  if (told.contains(checkpoint_key))
    place.master->begin_from({told.at(checkpoint_key), told.at(steps_key)});
}

}  // namespace det::context
