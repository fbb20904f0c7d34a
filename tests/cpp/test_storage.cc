// Storage without a run.
#include <fstream>

#include "tests/cpp/fixture.h"

namespace {

using namespace cpp_test;
using det::Code;

void a_checkpoint_is_moved_between_storages(void **) {
  const Run run;  // whose home is gone afterwards
  const std::filesystem::path home = run.home.path();
  std::filesystem::create_directory(home / "model");
  std::ofstream(home / "model" / "weights") << "weights";
  const det::Storage near = det::Storage::open((home / "near").c_str());
  const det::Storage far = det::Storage::open((home / "far").c_str());
  const std::string id = near.upload(home / "model", R"({"steps_completed": 7})");
  near.copy(id, far);
  near.delete_checkpoint(id);
  expect_error(Code::not_found, [&] { near.verify(id); });
  int64_t told = 0;
  far.download(id, home / "back",
               {nullptr, [&](const det::Progress &now) { return told = now.files, true; }});
  assert_equal(told, 2);
  assert_true(std::filesystem::exists(home / "back" / "weights"));
  far.verify(det::Text(id));
  assert_true(std::string(far.list(id).capi()).find("\"weights\":7") != std::string::npos);
  assert_true(static_cast<bool>(det::Storage::open(far.config().capi())));
  det::Failure failure;
  assert_false(static_cast<bool>(det::Storage::open("tape://x", failure)));
  assert_true(failure.code() == Code::invalid);
  run.core.close();
}

}  // namespace

int test_storage() {
  const CMUnitTest tests[] = {cmocka_unit_test(a_checkpoint_is_moved_between_storages)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
