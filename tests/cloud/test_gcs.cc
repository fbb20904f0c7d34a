// Google Cloud Storage as fake-gcs-server speaks it.
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/cloud/gcs/gcs_objects.h"
#include "tests/cloud/suite.h"

int test_gcs() {
  using namespace det;
  const Json config{{"type", "gcs"},
                    {"bucket", environment_variable("DET_TEST_GCS_BUCKET")},
                    {"endpoint_url", environment_variable("DET_TEST_GCS_ENDPOINT")},
                    {"anonymous", true}};
  cloud::suite::subject.store = cloud::open_gcs(config, std::make_shared<Logger>());
  return cloud::suite::run("gcs");
}
