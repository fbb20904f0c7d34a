#include "core/storage/storage.h"

#include <fcntl.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/base/uuid.h"
#include "core/storage/cloud_library.h"
#include "core/storage/directory_storage.h"
#include "core/storage/storage_location.h"
#include "core/storage/tree.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string &why) {
  throw Error(Code::invalid, "reading checkpoint_storage: " + why);
}

// Retention is the master's business; the keys may stand in any storage.
const std::set<std::string> retention_keys{"save_experiment_best", "save_trial_best",
                                           "save_trial_latest", "gc_latest_per_trial"};

void allow_only(const Json &config, const std::set<std::string> &allowed) {
  for (const auto &[key, value] : config.items())
    if (key != "type" && !retention_keys.contains(key) && !allowed.contains(key))
      refuse("unknown key '" + key + "' for type " + config["type"].get<std::string>());
}

// Null counts as absent.
std::optional<std::string> text_of(const Json &config, const char *key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (!found->is_string()) refuse("'" + std::string(key) + "' must be a string");
  std::string text = found->get<std::string>();
  if (text.find('\0') != text.npos) refuse("'" + std::string(key) + "' must not contain NUL");
  return text;
}

std::string required_text(const Json &config, const char *key) {
  std::optional<std::string> text = text_of(config, key);
  if (!text || text->empty())
    refuse("type " + config["type"].get<std::string>() + " needs a non-empty `" + key + "`");
  return *std::move(text);
}

// It may not be there yet, but what is there must not be in its way.
void check_can_be_directory(const fs::path &base) {
  for (fs::path part = base; part.has_relative_path(); part = part.parent_path()) {
    std::error_code failed;
    const fs::file_status found = fs::status(part, failed);
    if (fs::is_directory(found)) return;
    if (fs::exists(found))
      throw Error(Code::invalid, "opening storage '" + base.string() + "': '" + part.string() +
                                     "' is no directory; choose another one");
  }
}

bool wants_deduplication(const Json &config) {
  const auto found = config.find("deduplicate");
  if (found == config.end() || found->is_null()) return false;
  if (!found->is_boolean()) refuse("'deduplicate' must be true or false");
  return found->get<bool>();
}

std::unique_ptr<Storage> open_directory(const fs::path &base, Json config, const char *base_key,
                                        bool deduplicate, std::shared_ptr<Logger> logger) {
  if (base.empty()) refuse("the base path must not be empty");
  // Absolute, so that it stays the same when the program changes its working directory.
  const fs::path absolute = fs::absolute(base);
  check_can_be_directory(absolute);
  if (deduplicate) config["deduplicate"] = true;
  DirectoryStorage::Options options{absolute, std::move(config), base_key};
  options.deduplicate = deduplicate;
  return std::make_unique<DirectoryStorage>(std::move(options), std::move(logger));
}

std::unique_ptr<Storage> make_shared_fs(const Json &config,
                                        const std::optional<std::string> &container_path,
                                        std::shared_ptr<Logger> logger) {
  allow_only(config, {"host_path", "storage_path", "propagation", "container_path",
                      "checkpoint_path", "tensorboard_path", "deduplicate"});
  const std::string host_path = required_text(config, "host_path");
  const char *const key = config.contains("storage_path")       ? "storage_path"
                          : config.contains("tensorboard_path") ? "tensorboard_path"
                                                                : "checkpoint_path";
  const std::optional<std::string> storage_path = text_of(config, key);
  Json again{{"type", "shared_fs"}, {"host_path", host_path}};
  if (storage_path) again["storage_path"] = *storage_path;
  return open_directory(shared_directory(host_path, storage_path, container_path), std::move(again),
                        "host_path", wants_deduplication(config), std::move(logger));
}

std::unique_ptr<Storage> make_directory(const Json &config, std::shared_ptr<Logger> logger) {
  allow_only(config, {"container_path", "deduplicate"});
  // What is recorded says the same in any working directory.
  const std::string path = fs::absolute(required_text(config, "container_path")).string();
  return open_directory(path, {{"type", "directory"}, {"container_path", path}}, "container_path",
                        wants_deduplication(config), std::move(logger));
}

// What it may say besides, the store of that type knows.
std::unique_ptr<Storage> make_bucket(const Json &config, std::shared_ptr<Logger> logger) {
  if (config["type"] == "azure") {
    required_text(config, "container");
    const bool connection = text_of(config, "connection_string").has_value();
    const bool account = text_of(config, "account_url").has_value();
    const bool credential = text_of(config, "credential").has_value();
    if (connection == account)
      refuse("type azure needs exactly one of `connection_string` and `account_url`");
    if (connection && credential)
      refuse("type azure takes `credential` only together with `account_url`");
  } else {
    required_text(config, "bucket");
    normalized_prefix(text_of(config, "prefix").value_or(""));
  }
  text_of(config, "temp_dir");
  wants_deduplication(config);
  return open_bucket(config, std::move(logger));
}

// An account has no place in its URI: the environment says it, as to the tools of Azure.
Json azure_from_environment(const std::string &uri, const StorageLocation &location) {
  const std::string connection = environment_variable("AZURE_STORAGE_CONNECTION_STRING");
  const std::string account = environment_variable("AZURE_STORAGE_ACCOUNT");
  Json config{{"type", "azure"}, {"container", location.bucket + "/" + location.prefix}};
  if (!connection.empty()) config["connection_string"] = connection;
  else if (!account.empty())
    config["account_url"] = "https://" + account + ".blob.core.windows.net";
  else
    throw Error(Code::invalid, "opening storage '" + uri +
                                   "': set AZURE_STORAGE_CONNECTION_STRING or "
                                   "AZURE_STORAGE_ACCOUNT, or give a checkpoint_storage object");
  return config;
}

}  // namespace

std::unique_ptr<Storage> make_storage(const Json &config,
                                      const std::optional<std::string> &container_path,
                                      std::shared_ptr<Logger> logger) {
  if (!config.is_object()) refuse("it must be an object with a 'type'");
  if (!config.contains("type")) refuse("Missing 'type' parameter");
  if (!config["type"].is_string()) refuse("'type' must be a string");
  const auto type = config["type"].get<std::string>();
  if (type == "shared_fs") return make_shared_fs(config, container_path, std::move(logger));
  if (type == "directory") return make_directory(config, std::move(logger));
  if (type == "s3" || type == "gcs" || type == "azure")
    return make_bucket(config, std::move(logger));
  refuse("Unknown storage type: " + type + "; use shared_fs, directory, s3, gcs or azure");
}

std::unique_ptr<Storage> make_storage_from_uri(const std::string &uri,
                                               std::shared_ptr<Logger> logger) {
  const StorageLocation location = parse_storage_uri(uri);
  if (location.kind == "azure")
    return make_bucket(azure_from_environment(uri, location), std::move(logger));
  if (location.kind != "shared_fs")
    return make_bucket(
        {{"type", location.kind}, {"bucket", location.bucket}, {"prefix", location.prefix}},
        std::move(logger));
  const fs::path base = fs::absolute(location.path);
  return open_directory(base, {{"type", "shared_fs"}, {"host_path", base.string()}}, "host_path",
                        false, std::move(logger));
}

bool is_storage_id(const std::string &id) {
  const auto plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !id.empty() && id.size() <= 255 && id[0] != '.' && std::ranges::all_of(id, plain);
}

void check_storage_id(const std::string &id) {
  if (!is_storage_id(id))
    throw Error(Code::invalid, "checking storage id '" + id +
                                   "': give 1 to 255 letters, digits, '-', '_' or '.', the first "
                                   "no dot");
}

namespace {

[[noreturn]] void refuse_shares(const CheckpointWriter &writer) {
  throw Error(Code::unsupported, "saving checkpoint '" + writer.id() +
                                     "' of several ranks asynchronously: this storage cannot do "
                                     "that; save it with det_checkpoint_upload() or "
                                     "det_checkpoint_writer_commit()");
}

}  // namespace

void CheckpointWriter::promise_share(int) { refuse_shares(*this); }
void CheckpointWriter::leave_share(int, const std::string &) { refuse_shares(*this); }
std::optional<std::string> CheckpointWriter::take_share(int) { refuse_shares(*this); }

std::unique_ptr<Storage> make_recorded_storage(const Json &place, std::shared_ptr<Logger> logger) {
  return place.is_string() ? make_storage_from_uri(place, std::move(logger))
                           : make_storage(place, std::nullopt, std::move(logger));
}

std::optional<std::string> Storage::read(const std::string &id, const std::string &path) {
  const auto reader = restore(
      id, [&](const std::string &one) { return one == path; }, false);
  const std::filesystem::path file = reader->path() / path;
  return std::filesystem::exists(file) ? std::optional(read_file(file)) : std::nullopt;
}

void require_usable(Storage &storage) try { storage.probe(); } catch (const Error &error) {
  throw Error(error.code,
              std::string("validating the checkpoint storage before training begins: ") +
                  error.what() + "; see `checkpoint_storage` of the configuration",
              error.os_errno, error.http_status);
}

void validate_storage(Storage &storage) {
  constexpr const char *name = "VALIDATE.txt";
  const std::unique_ptr<CheckpointWriter> writer = storage.begin(make_uuid());
  const std::string &id = writer->id();
  write_all(open_file(writer->path() / name, O_WRONLY | O_CREAT | O_EXCL).get(), id, name);
  writer->commit();
  try {
    const std::unique_ptr<CheckpointReader> reader =
        storage.restore(id, ReadOptions{.had_manifest = [] { return true; }});
    if (read_file(reader->path() / name) != id)
      throw Error(Code::corrupt,
                  "validating the storage: what was read differs from what was "
                  "written; check the file system");
  } catch (...) {
    writer->abort();
    throw;
  }
  writer->abort();
}

std::string save_directory(Storage &storage, const fs::path &directory, const Selector &selector,
                           const std::string &metadata, Progress *progress) {
  if (!fs::is_directory(directory))
    throw Error(fs::exists(directory) ? Code::invalid : Code::not_found,
                "storing a checkpoint: '" + directory.string() + "' is not a directory");
  std::optional<std::vector<std::string>> paths;
  if (selector) {
    paths.emplace();
    for (const auto &[path, size] : list_directory(directory))
      if (selector(path)) paths->push_back(path);
  }
  const std::unique_ptr<CheckpointWriter> writer = storage.begin(make_uuid());
  writer->add(directory, paths, progress);
  if (!metadata.empty()) writer->put(metadata_name, metadata);
  writer->commit({}, progress);
  writer->announced();
  return writer->id();
}

void verify_checkpoint(Storage &storage, const std::string &id, Progress *progress) {
  const HadManifest refuse = [&id]() -> bool {
    throw Error(Code::unsupported, "verifying checkpoint " + id +
                                       ": it has no manifest: another program stored it, and its "
                                       "files can only be compared with those that it was made of");
  };
  storage.restore(id, ReadOptions{.had_manifest = refuse, .progress = progress});
}

void copy_checkpoint(Storage &from, const std::string &id, Storage &to, Progress *progress) {
  if (from.copy_to(to, id, progress)) return;
  const std::unique_ptr<CheckpointReader> reader =
      from.restore(id, ReadOptions{.progress = progress});
  const std::unique_ptr<CheckpointWriter> writer = to.begin(id);
  writer->add(reader->path(), std::nullopt, progress);
  writer->commit({}, progress);
  writer->announced();
}

}  // namespace det::storage
