// The S3 of a test: what tests/servers started, by its environment.
#pragma once

#include "core/base/json.h"
#include "core/base/process/environment.h"

namespace det::cloud::s3 {

inline Json config() {
  return {{"type", "s3"},
          {"bucket", environment_variable("DET_TEST_S3_BUCKET")},
          {"endpoint_url", environment_variable("DET_TEST_S3_ENDPOINT")},
          {"access_key", environment_variable("DET_TEST_S3_ACCESS_KEY")},
          {"secret_key", environment_variable("DET_TEST_S3_SECRET_KEY")}};
}

}  // namespace det::cloud::s3
