// Azure Blob Storage as Azurite speaks it.
#include "tests/cloud/azure.h"
#include "tests/cloud/suite.h"

int test_azure() {
  using namespace det::cloud;
  suite::subject.store = open(azurite());
  suite::subject.keeps_every_key = false;
  return suite::run("azure");
}
