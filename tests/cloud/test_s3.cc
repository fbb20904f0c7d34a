// S3 as MinIO and versitygw speak it.
#include "core/base/environment.h"
#include "core/base/json.h"
#include "core/cloud/s3/s3_store.h"
#include "tests/cloud/suite.h"

namespace {

using namespace det;
using namespace det::cloud;

Json config() {
  return {{"type", "s3"},
          {"bucket", environment_variable("DET_TEST_S3_BUCKET")},
          {"endpoint_url", environment_variable("DET_TEST_S3_ENDPOINT")},
          {"access_key", environment_variable("DET_TEST_S3_ACCESS_KEY")},
          {"secret_key", environment_variable("DET_TEST_S3_SECRET_KEY")}};
}

}  // namespace

int test_s3() {
  suite::subject.store = open_s3(config(), std::make_shared<Logger>());
  const bool is_minio = !suite::store().keeps_directories();
  suite::subject.keeps_every_key = false;
  suite::subject.keeps_keys_below_objects = false;
  suite::subject.lists_uploads_by_prefix = !is_minio;
  return suite::run("s3");
}
