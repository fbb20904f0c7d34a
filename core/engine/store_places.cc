#include "core/engine/store_places.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/storage/storage_location.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

constexpr const char *below_host_path[] = {"storage_path", "tensorboard_path", "checkpoint_path"};

// Relative to the home; nothing for what does not lie in it.
std::optional<std::string> place_in(const fs::path &home, const fs::path &path) {
  const auto place = [](const fs::path &inner, const fs::path &root) {
    return is_below(inner, root) ? std::optional(inner.lexically_relative(root).string())
                                 : std::nullopt;
  };
  if (auto named = place(normal_path(path), normal_path(home))) return named;
  std::error_code failed;
  const fs::path real_home = fs::canonical(home, failed);
  if (failed) return std::nullopt;
  const fs::path real = fs::weakly_canonical(path, failed);
  return failed ? std::nullopt : place(normal_path(real), real_home);
}

Json recorded_text(const fs::path &home, const Json &storage) {
  const std::optional<fs::path> path = path_of_text(storage);
  if (!path) return storage;
  const fs::path base = fs::absolute(*path);
  const auto place = place_in(home, base);
  if (!place && path->is_absolute()) return storage;
  return {{"type", "shared_fs"}, {"host_path", place ? *place : base.string()}};
}

}  // namespace

const char *directory_key(const Json &storage) {
  if (!storage.is_object()) return nullptr;
  const Json type = storage.value("type", Json());
  const char *key = type == "shared_fs"   ? "host_path"
                    : type == "directory" ? "container_path"
                                          : nullptr;
  return key != nullptr && storage.contains(key) && storage.at(key).is_string() ? key : nullptr;
}

fs::path directory_of(const Json &storage) {
  const fs::path base = storage.at(directory_key(storage)).get<std::string>();
  for (const char *below : below_host_path)
    if (storage.contains(below) && storage.at(below).is_string()) try {
        return storage::shared_directory(base, storage.at(below).get<std::string>(), std::nullopt);
      } catch (const Error &) {
        return {};
      }
  return base;
}

std::optional<fs::path> path_of_text(const Json &storage) {
  if (!storage.is_string()) return std::nullopt;
  try {
    const storage::StorageLocation location =
        storage::parse_storage_uri(storage.get<std::string>());
    return location.kind == "shared_fs" ? std::optional<fs::path>(location.path) : std::nullopt;
  } catch (const Error &) {
    return std::nullopt;  // whoever opens it says what is wrong
  }
}

bool is_in_home(const Json &recorded) {
  const char *key = directory_key(recorded);
  return key != nullptr && !fs::path(recorded.at(key).get<std::string>()).is_absolute();
}

fs::path home_of(const Database &store) {
  return fs::absolute(store.path()).parent_path().parent_path();
}

Json recorded_storage(const fs::path &home, const Json &storage) {
  if (storage.is_string()) return recorded_text(home, storage);
  const char *key = directory_key(storage);
  if (key == nullptr) return storage;
  Json recorded = storage;
  const fs::path base = fs::absolute(storage.at(key).get<std::string>());
  recorded[key] = base.string();
  if (const auto place = place_in(home, base)) {
    recorded[key] = *place;
  } else if (const auto inner = place_in(home, directory_of(recorded))) {
    recorded[key] = *inner;
    for (const char *below : below_host_path) recorded.erase(below);
  }
  return recorded;
}

Json used_storage(const fs::path &home, Json recorded) {
  if (!is_in_home(recorded)) return recorded;
  Json &place = recorded[directory_key(recorded)];
  place = normal_path(home / place.get<std::string>()).string();
  return recorded;
}

Json recorded_config(const Database &store, Json config) {
  if (config.is_object() && config.contains("checkpoint_storage"))
    config["checkpoint_storage"] = recorded_storage(home_of(store), config["checkpoint_storage"]);
  return config;
}

Json used_config(const Database &store, std::string_view recorded) {
  Json config = parse_json_object(recorded, "the stored configuration");
  if (config.contains("checkpoint_storage"))
    config["checkpoint_storage"] =
        used_storage(home_of(store), std::move(config["checkpoint_storage"]));
  return config;
}

}  // namespace det::engine
