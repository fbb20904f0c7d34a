#include <algorithm>

#include "core/base/error.h"
#include "core/tensorboard/files.h"

namespace det::tensorboard {

namespace {

std::string text_in(const Json &config, const char *key) {
  const auto it = config.find(key);
  return it != config.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// Empty for what is no bucket. The schemes are those that TensorBoard knows.
std::string bucket_address(const Json &config) {
  if (!config.is_object()) return {};
  const std::string type = text_in(config, "type"), prefix = text_in(config, "prefix");
  std::string address = type == "s3"      ? "s3://" + text_in(config, "bucket")
                        : type == "gcs"   ? "gs://" + text_in(config, "bucket")
                        : type == "azure" ? "abfs://" + text_in(config, "container")
                                          : std::string();
  if (!address.empty() && !prefix.empty()) address += (prefix.front() == '/' ? "" : "/") + prefix;
  while (address.ends_with('/')) address.pop_back();
  return address;
}

std::string base_of(const Json &storage, const std::shared_ptr<Logger> &logger) {
  const std::string bucket = bucket_address(storage);
  if (!bucket.empty()) return bucket;
  const auto made = storage.is_string() ? storage::make_storage_from_uri(storage, logger)
                                        : storage::make_storage(storage, std::nullopt, logger);
  return made->directory().string();
}

}  // namespace

std::vector<std::string> locations(const std::vector<Json> &storages, const std::string &cluster_id,
                                   int64_t experiment_id, const std::shared_ptr<Logger> &logger) {
  std::vector<std::string> found;
  for (const Json &storage : storages) {
    try {
      const std::string base = base_of(storage, logger);
      const std::string place = base + "/" + tensorboard_path(cluster_id, experiment_id).string();
      if (!base.empty() && std::find(found.begin(), found.end(), place) == found.end())
        found.push_back(place);
    } catch (const std::exception &) {
      // It is of another machine, or of a kind that this build does not have.
    }
  }
  return found;
}

}  // namespace det::tensorboard
