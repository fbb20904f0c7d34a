#include "tensorboard_logdir.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>

#include "command.h"
#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/config/secrets.h"
#include "core/engine/experiment.h"
#include "core/storage/storage.h"
#include "core/tensorboard/files.h"
#include "field_text.h"

namespace det::cli {

namespace fs = std::filesystem;

namespace {

std::string named(int64_t experiment) { return "experiment " + std::to_string(experiment); }

bool is_address(const std::string &place) { return place.find("://") != place.npos; }

fs::path make_private_directory() {
  const std::string chosen = environment_variable("TMPDIR");
  std::string name = (chosen.starts_with('/') ? chosen : "/tmp") + "/det-tensorboard-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) OsFailure{errno}.raise("making directory '" + name + "'");
  return name;
}

// The last part of an address: where in the storage they are, beginning with the id of a cluster.
std::string path_within(const std::string &place, int64_t experiment) {
  const std::string tail = "/tensorboard/experiment/" + std::to_string(experiment);
  const size_t cluster = place.rfind('/', place.size() - tail.size() - 1);
  return place.substr(cluster + 1);
}

// The configuration of the storage that an address is of. Of the credentials it has the secrets.
Json storage_at(Client &client, const Json &experiment, const Json &secrets,
                const std::string &place) {
  const auto id = field(experiment, "id").get<int64_t>();
  const std::string path = path_within(place, id);
  const std::string cluster = path.substr(0, path.find('/'));
  const auto logger = std::make_shared<Logger>(LogLevel::error);
  const auto is_there = [&](const Json &storage) {
    const auto found = tensorboard::locations({storage}, cluster, id, logger);
    return std::find(found.begin(), found.end(), place) != found.end();
  };
  const auto usable = [&](const Json &masked) {
    Json config{{"checkpoint_storage", masked}};
    config::put_secrets(config, secrets);
    return config.at("checkpoint_storage");
  };
  Json found = usable(field(field(experiment, "config"), "checkpoint_storage"));
  if (is_there(found)) return found;
  found = nullptr;
  client.each_trial(id, [&](const Json &trial) {
    client.each_checkpoint(field(trial, "id").get<int64_t>(), [&](const Json &checkpoint) {
      const Json known = client.checkpoint(field(checkpoint, "uuid").get<std::string>());
      const Json storage = usable(field(known, "storage"));
      if (is_there(storage)) found = storage;
      return found.is_null();
    });
    return found.is_null();
  });
  if (found.is_null())
    throw Failure(ExitCode::unsupported, "nobody says how to open '" + place +
                                             "', where the TensorBoard files of " + named(id) +
                                             " are");
  return found;
}

}  // namespace

TensorboardLogdir::TensorboardLogdir(Client &client, fs::path store_directory,
                                     const std::vector<int64_t> &experiments)
    : store_directory_(std::move(store_directory)) {
  for (const int64_t id : experiments) add_experiment(client, id);
}

TensorboardLogdir::~TensorboardLogdir() {
  std::error_code stays;
  if (!private_directory_.empty()) fs::remove_all(private_directory_, stays);
}

// Of the places where events may be, those where there are some.
void TensorboardLogdir::add_experiment(Client &client, int64_t id) {
  const Json experiment = client.experiment(id);
  std::vector<Place> possible;
  for (const Json &each : field(experiment, "tensorboard")) {
    const auto place = each.get<std::string>();
    if (is_address(place)) {
      const tensorboard::Mirror &mirror = copy(client, experiment, place);
      possible.push_back({id, mirror.path(), true, &mirror});
    } else {
      std::error_code unknown;
      possible.push_back({id, place, fs::exists(place, unknown)});
    }
  }
  if (possible.empty())
    throw Failure(ExitCode::state,
                  named(id) + " has no storage of this machine for TensorBoard files");
  const Place first = possible.front();
  std::erase_if(possible, [](const Place &place) { return !place.there; });
  if (possible.empty()) possible.push_back(first);
  places_.insert(places_.end(), possible.begin(), possible.end());
}

const tensorboard::Mirror &TensorboardLogdir::copy(Client &client, const Json &experiment,
                                                   const std::string &place) {
  const Json secrets =
      store_directory_.empty()
          ? Json::object()
          : engine::kept_secrets(store_directory_, field(experiment, "id").get<int64_t>());
  const Json config = storage_at(client, experiment, secrets, place);
  const auto logger = std::make_shared<Logger>();
  std::shared_ptr<storage::Storage> bucket = storage::make_recorded_storage(config, logger);
  if (private_directory_.empty()) private_directory_ = make_private_directory();
  return copies_.emplace_back(std::move(bucket),
                              path_within(place, field(experiment, "id").get<int64_t>()),
                              private_directory_ / std::to_string(copies_.size()));
}

std::string TensorboardLogdir::option() const {
  if (places_.size() == 1) return "--logdir=" + places_.front().directory.string();
  std::string all;
  int64_t before = 0, number = 1;
  for (const Place &place : places_) {
    number = place.experiment == before ? number + 1 : 1;
    before = place.experiment;
    const std::string one = "experiment-" + std::to_string(place.experiment) +
                            (number > 1 ? "-" + std::to_string(number) : "") + ":" +
                            place.directory.string();
    if (one.find(',') != one.npos)
      throw Failure(ExitCode::unsupported, "TensorBoard cannot open '" + one +
                                               "' beside others, since it has a comma; open it "
                                               "alone");
    all += (all.empty() ? "" : ",") + one;
  }
  return "--logdir_spec=" + all;
}

void TensorboardLogdir::refresh(storage::Progress *progress) {
  for (tensorboard::Mirror &copy : copies_) copy.refresh(progress);
}

void TensorboardLogdir::tell_empty() const {
  std::map<int64_t, bool> has_events;
  for (const Place &place : places_)
    has_events[place.experiment] |= place.copy != nullptr ? !place.copy->empty() : place.there;
  for (const auto &[experiment, there] : has_events)
    if (!there)
      std::fprintf(stderr, "det: %s has no events yet; TensorBoard waits for them\n",
                   named(experiment).c_str());
}

}  // namespace det::cli
