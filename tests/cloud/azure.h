// Containers of the Azurite that a test is run with.
#pragma once

#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/cloud/azure/azure_objects.h"

namespace det::cloud {

inline std::string azurite_url() { return environment_variable("DET_TEST_AZURE_ENDPOINT"); }

inline Json azurite(const std::string &container) {
  return {{"type", "azure"},
          {"container", container},
          {"account_url", azurite_url()},
          {"credential", environment_variable("DET_TEST_AZURE_KEY")}};
}

inline Json azurite() { return azurite(environment_variable("DET_TEST_AZURE_CONTAINER")); }

inline std::shared_ptr<ObjectStore> open(const Json &config) {
  return open_azure(config, std::make_shared<Logger>());
}

}  // namespace det::cloud
