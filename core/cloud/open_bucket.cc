#include "core/cloud/open_bucket.h"

#include <string>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/cloud/azure/azure_config.h"
#include "core/cloud/azure/azure_objects.h"
#include "core/cloud/checkpoints/cloud_storage.h"
#include "core/cloud/gcs/gcs_objects.h"
#include "core/cloud/s3/s3_objects.h"
#include "core/storage/storage_location.h"

namespace det::cloud {

namespace {

std::shared_ptr<ObjectStore> object_store(const Json &config, std::shared_ptr<Logger> logger) {
  if (config.at("type") == "s3") return open_s3(config, std::move(logger));
  if (config.at("type") == "gcs") return open_gcs(config, std::move(logger));
  if (config.at("type") == "azure") return open_azure(config, std::move(logger));
  throw Error(Code::unsupported, "opening storage of type " + config.value("type", "") +
                                     ": it is not in this release; use a shared_fs or directory "
                                     "storage");
}

// What is needed to open it again, by who has credentials of his own.
Json without_credentials(Json config) {
  if (config.at("type") == "azure") return azure_without_credentials(std::move(config));
  for (const char *key : {"access_key", "secret_key", "session_token"}) config.erase(key);
  return config;
}

std::string text_of(const Json &config, const char *key) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() ? std::string() : found->get<std::string>();
}

}  // namespace

std::unique_ptr<storage::Storage> open_bucket(const Json &config, std::shared_ptr<Logger> logger) {
  CloudOptions options;
  Json of_store = config;
  if (const auto memory = config.find("transfer_memory");
      memory != config.end() && !memory->is_null()) {
    if (!memory->is_number_unsigned() || memory->get<uint64_t>() == 0)
      throw Error(Code::invalid,
                  "reading checkpoint_storage: 'transfer_memory' must be a number of bytes");
    options.memory = memory->get<uint64_t>();
  }
  if (const auto found = config.find("deduplicate"); found != config.end()) {
    options.deduplicate = found->is_boolean() && found->get<bool>();
    of_store.erase("deduplicate");
  }
  of_store.erase("transfer_memory");
  options.store = object_store(of_store, logger);
  options.prefix = storage::normalized_prefix(text_of(config, "prefix"));
  if (const std::string path = text_of(config, "temp_dir"); !path.empty())
    options.temporary = std::filesystem::absolute(path);
  options.config = without_credentials(of_store);
  if (options.deduplicate) options.config["deduplicate"] = true;
  if (config.contains("transfer_memory"))
    options.config["transfer_memory"] = config["transfer_memory"];
  return std::make_unique<CloudStorage>(std::move(options), std::move(logger));
}

}  // namespace det::cloud
