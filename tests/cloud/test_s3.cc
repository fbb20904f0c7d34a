// S3 as MinIO and versitygw speak it.
#include "core/cloud/s3/s3_objects.h"
#include "tests/cloud/s3.h"
#include "tests/cloud/suite.h"

int test_s3() {
  using namespace det;
  using namespace det::cloud;
  suite::subject.store = open_s3(s3::config(), std::make_shared<Logger>());
  suite::subject.keeps_every_key = false;
  suite::subject.keeps_keys_below_objects = false;
  return suite::run("s3");
}
