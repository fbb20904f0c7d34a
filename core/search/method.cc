#include "core/search/method.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "core/base/error.h"

namespace det::search {

TrialIndex TrialTable::create(Decisions &decisions) {
  return create(sample(space_, random_), decisions);
}

TrialIndex TrialTable::create(Json hparams, Decisions &decisions) {
  std::string id = random_.request_id();
  const int64_t seed = random_.trial_seed();
  const TrialIndex trial = add(id);
  decisions.emplace_back(CreateTrial{std::move(id), seed, std::move(hparams)});
  return trial;
}

std::optional<TrialIndex> TrialTable::find(const std::string &request_id) const {
  const auto found = indexes_.find(request_id);
  if (found == indexes_.end()) return std::nullopt;
  return found->second;
}

TrialIndex TrialTable::add(const std::string &request_id) {
  const auto [at, added] = indexes_.emplace(request_id, ids_.size());
  if (added) ids_.push_back(request_id);
  return at->second;
}

Json sorted_object(std::vector<std::pair<std::string, Json>> entries) {
  std::ranges::sort(entries, {}, &std::pair<std::string, Json>::first);
  // Not by operator[], which looks through all entries first.
  Json::object_t object;
  auto &list = static_cast<Json::object_t::Container &>(object);
  list.reserve(entries.size());
  for (auto &[name, value] : entries) list.emplace_back(std::move(name), std::move(value));
  return object;
}

void reading_snapshot(const std::function<void()> &read) {
  try {
    read();
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &e) {
    throw Error(Code::corrupt, std::string("restoring a search from its snapshot: ") + e.what() +
                                   "; take one that was made with the same configuration");
  }
}

const Json &object_in(const Json &snapshot, const char *name) {
  const Json &object = snapshot.at(name);
  if (!object.is_object()) throw std::invalid_argument(std::string(name) + " is no object");
  return object;
}

}  // namespace det::search
