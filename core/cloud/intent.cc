#include "core/cloud/intent.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/cloud/object_text.h"
#include "core/storage/storage.h"

namespace det::cloud {

namespace {
// Longer than a checkpoint takes to be uploaded, and than the clocks of two machines differ.
constexpr int64_t abandoned_after_ms = int64_t{7} * 24 * 3600 * 1000;

constexpr std::array<const char *, 3> purposes{"writing", "withdrawn", "removing"};

Purpose purpose_from(const Json &json) {
  const std::string text = json.value("purpose", "");
  const auto found = std::find(purposes.begin(), purposes.end(), text);
  return found == purposes.end() ? Purpose::writing
                                 : static_cast<Purpose>(found - purposes.begin());
}

bool is_old(const Intent &intent) {
  return now_us() / 1000 - intent.modified_ms > abandoned_after_ms;
}
}  // namespace

bool Intent::is_abandoned() const {
  switch (liveness(owner)) {
    case Liveness::alive:
      return false;
    case Liveness::dead:
      return true;
    case Liveness::unknown:
      break;
  }
  return is_old(*this);
}

bool Intent::is_awaited() const {
  struct stat about {};
  return purpose == Purpose::writing && !source.empty() && !is_old(*this) &&
         lstat(source.c_str(), &about) == 0;
}

void Intents::put(const std::string &id, Purpose purpose, const std::string &cluster_id,
                  const std::string &source, bool only_new) const {
  Json json{{"purpose", purposes[static_cast<size_t>(purpose)]},
            {"cluster", cluster_id},
            {"owner", ProcessIdentity::current().to_json()}};
  if (!source.empty()) json["source"] = source;
  write_object(*store_, keys_.pending(id), to_wire(json) + "\n", only_new);
}

bool Intents::has(const std::string &id) const {
  return store_->find(keys_.pending(id)).has_value();
}

std::optional<Intent> Intents::find(const std::string &id) const {
  const std::optional<ObjectInfo> info = store_->find(keys_.pending(id));
  return info ? read(id, info->modified_ms) : std::nullopt;
}

void Intents::remove(const std::string &id) const { store_->remove({keys_.pending(id)}); }

std::vector<Intent> Intents::all() const {
  const std::string root = keys_.pending();
  std::vector<std::pair<std::string, int64_t>> found;
  store_->list(root, [&](const ObjectInfo &info) {
    const std::string id = info.key.substr(root.size());
    if (storage::is_storage_id(id)) found.emplace_back(id, info.modified_ms);
  });
  std::vector<Intent> intents;
  for (const auto &[id, modified_ms] : found)
    if (std::optional<Intent> intent = read(id, modified_ms)) intents.push_back(*std::move(intent));
  return intents;
}

// Nothing where it is gone by now. What cannot be understood belongs to nobody that could be asked.
std::optional<Intent> Intents::read(const std::string &id, int64_t modified_ms) const {
  const std::optional<std::string> text = read_object(*store_, keys_.pending(id));
  if (!text) return std::nullopt;
  Intent intent{id, Purpose::writing, {}, {}, modified_ms};
  try {
    const Json json = parse_json_object(*text, "an intent");
    intent.purpose = purpose_from(json);
    intent.cluster_id = json.value("cluster", "");
    intent.source = json.value("source", "");
    intent.owner = ProcessIdentity::from_json(json.value("owner", Json::object()));
  } catch (const std::exception &) {
    // It counts as one of another machine.
  }
  return intent;
}

}  // namespace det::cloud
