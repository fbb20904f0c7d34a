#include "core/cloud/checkpoints/bucket.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text/printable.h"
#include "core/base/text/utf8.h"
#include "core/cloud/checkpoints/bucket_chunks.h"
#include "core/cloud/request_pool.h"
#include "core/storage/storage.h"
#include "core/storage/tree.h"

namespace det::cloud {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// Without the '/' that a directory has at its end.
std::string bare(const std::string &path) {
  return path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

constexpr uint64_t longest = uint64_t{1} << 30;  // a manifest of ten million files

class TextSink : public http::BodySink {
 public:
  void begin() override { text.clear(); }
  void write(const char *bytes, size_t count) override { text.append(bytes, count); }
  std::string text;
};

// Stores that remove one object a request are asked for several batches at a time.
constexpr size_t batch = 250;

// Keys in memory.
constexpr size_t most_held = 10'000;

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

Keys::Keys(std::string prefix, size_t key_max)
    : prefix_(prefix.empty() ? std::move(prefix) : prefix + "/"), key_max_(key_max) {}

std::string Keys::checkpoint(const std::string &id) const { return prefix_ + id + "/"; }

std::string Keys::manifest(const std::string &id) const {
  return checkpoint(id) + storage::manifest_name;
}

std::string Keys::pending() const { return prefix_ + ".detcore/pending/"; }

std::string Keys::pending(const std::string &id) const { return pending() + id; }

std::string Keys::chunks() const { return prefix_ + ".detcore/chunks/"; }

std::string Keys::chunk_list(const std::string &id) const {
  return checkpoint(id) + storage::chunks_directory + "/list";
}

std::string Keys::of(const std::string &id, const std::string &path) const {
  const auto refuse = [&](const std::string &why) {
    throw Error(Code::invalid, "storing '" + printable(path) + "' in checkpoint '" + id +
                                   "': " + why + "; give the file another name");
  };
  if (!storage::is_plain_path(bare(path))) refuse("the path leads out of the checkpoint");
  if (!is_utf8(path)) refuse("names of objects are UTF-8, and this one is not");
  if (std::ranges::any_of(path, is_control)) refuse("the name has a control character");
  if (path == storage::manifest_name ||
      path.starts_with(storage::chunks_directory + std::string("/")))
    refuse("this name is reserved");
  std::string key = checkpoint(id) + path;
  if (key.size() > key_max_)
    refuse("the name of the object would have " + std::to_string(key.size()) +
           " bytes and may have " + std::to_string(key_max_));
  return key;
}

std::string Keys::path_of(const std::string &id, const std::string &key) const {
  const std::string root = checkpoint(id);
  std::string path = key.starts_with(root) ? key.substr(root.size()) : std::string();
  if (!storage::is_plain_path(bare(path)))
    throw Error(Code::corrupt, "reading checkpoint '" + id + "': the object '" + printable(key) +
                                   "' leads out of it; remove that object");
  return path;
}

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

std::string name_of(const Bucket &bucket, const std::string &id) {
  return "'" + bucket.store->name_of(bucket.keys.checkpoint(id)) + "'";
}

void remove_objects(const Bucket &bucket, const std::vector<std::string> &keys) {
  if (keys.size() <= batch) return keys.empty() ? void() : bucket.store->remove(keys);
  RequestPool pool(*bucket.store, bucket.requests, nullptr);
  size_t begin = 0;
  pool.run([&]() -> RequestPool::Task {
    if (begin >= keys.size()) return nullptr;
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin);
    const size_t count = std::min(batch, keys.size() - begin);
    begin += count;
    return [&pool,
            some = std::vector<std::string>(first, first + static_cast<std::ptrdiff_t>(count))] {
      pool.store().remove(some);
    };
  });
}

void discard_checkpoint(const Bucket &bucket, const std::string &id) {
  const std::string manifest = bucket.keys.manifest(id);
  if (bucket.store->find(manifest)) bucket.store->remove({manifest});
  // As they are listed: there may be any number.
  std::vector<std::string> keys;
  bucket.store->list(bucket.keys.checkpoint(id), [&](const ObjectInfo &info) {
    keys.push_back(info.key);
    if (keys.size() < most_held) return;
    remove_objects(bucket, keys);
    keys.clear();
  });
  remove_objects(bucket, keys);
  try {
    for (const PendingUpload &pending : bucket.store->list_uploads(bucket.keys.checkpoint(id)))
      bucket.store->abort_parts(pending.key, pending.upload);
  } catch (const Error &error) {
    // Who may not list them leaves them to the bucket's rules.
    if (error.code != Code::access) throw;
    bucket.logger->debug("looking for unfinished uploads: ", error.what());
  }
  remove_chunk_lists(bucket, id);
}

std::optional<std::string> read_object(ObjectStore &store, const std::string &key) {
  const auto sink = std::make_shared<TextSink>();
  try {
    store.get(key, 0, longest, {}, sink);
  } catch (const Error &error) {
    if (error.code == Code::not_found) return std::nullopt;
    throw;
  }
  if (sink->text.size() >= longest)
    throw Error(Code::corrupt, "reading '" + store.name_of(key) + "': it is too long");
  return std::move(sink->text);
}

void write_object(ObjectStore &store, const std::string &key, std::string text, bool only_new) {
  store.put(key, std::make_shared<TextRange>("'" + store.name_of(key) + "'", std::move(text)),
            only_new);
}

}  // namespace det::cloud
