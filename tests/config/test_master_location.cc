#include <cstdlib>
#include <filesystem>

#include "core/config/master_location.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;
using namespace det::config;
namespace fs = std::filesystem;

int clear_variables(void **) {
  for (const char *name : {"DET_MASTER", "DET_HOME", "XDG_DATA_HOME"}) unsetenv(name);
  setenv("HOME", "/home/somebody", 1);
  return 0;
}

std::string home(const std::string &option) {
  const MasterLocation location = locate_master(option);
  assert_true(location.embedded);
  return location.home.string();
}

std::string url(const std::string &option) {
  const MasterLocation location = locate_master(option);
  assert_false(location.embedded);
  return location.url;
}

void default_is_the_user_data_directory(void **) {
  assert_string_equal(home("").c_str(), "/home/somebody/.local/share/determined");
  setenv("XDG_DATA_HOME", "/data", 1);
  assert_string_equal(home("").c_str(), "/data/determined");
}

void without_a_home_the_user_database_is_asked(void **) {
  unsetenv("HOME");
  assert_true(home("").ends_with("/.local/share/determined"));
}

void option_comes_before_variables_and_master_before_home(void **) {
  setenv("XDG_DATA_HOME", "/data", 1);
  setenv("DET_HOME", "/home-variable", 1);
  assert_string_equal(home("").c_str(), "/home-variable");
  setenv("DET_MASTER", "/master-variable", 1);
  assert_string_equal(home("").c_str(), "/master-variable");
  assert_string_equal(home("/option").c_str(), "/option");
  setenv("DET_MASTER", "", 1);
  assert_string_equal(home("").c_str(), "/home-variable");
}

void relative_directories_are_made_absolute(void **) {
  assert_string_equal(home("runs").c_str(), (fs::current_path() / "runs").c_str());
  assert_string_equal(home("//data").c_str(), "//data");
  assert_string_equal(home("/a:1").c_str(), "/a:1");
  assert_string_equal(home("a:b/c").c_str(), (fs::current_path() / "a:b/c").c_str());
  setenv("DET_HOME", "runs", 1);
  assert_string_equal(home("").c_str(), (fs::current_path() / "runs").c_str());
}

void file_urls_name_directories(void **) {
  assert_string_equal(home("file:///data/runs").c_str(), "/data/runs");
  assert_string_equal(home("file:/data/runs").c_str(), "/data/runs");
  assert_string_equal(home("FILE:/data").c_str(), "/data");
  assert_string_equal(home("File:///data").c_str(), "/data");
  assert_string_equal(home("file:runs").c_str(), (fs::current_path() / "runs").c_str());
}

void web_addresses_name_a_master(void **) {
  assert_string_equal(url("http://host:8080").c_str(), "http://host:8080");
  assert_string_equal(url("HTTPS://Host/path/").c_str(), "https://host:443/path");
  assert_string_equal(url("host:8080").c_str(), "http://host:8080");
  assert_string_equal(url("[::1]:8080").c_str(), "http://[::1]:8080");
}

void other_addresses_are_refused_by_origin(void **) {
  for (const char *text :
       {"s3://bucket", "ftp://host/x", "file://host/x", "file://", "file:", "://x"})
    assert_true(contains(expect_error(Code::invalid, [&] { locate_master(text); }), text));
  setenv("DET_MASTER", "gs://bucket", 1);
  assert_true(contains(expect_error(Code::invalid, [] { locate_master(""); }), "DET_MASTER"));
}

void store_is_hidden_in_the_home(void **) {
  assert_string_equal(locate_master("/data").store_directory().c_str(), "/data/.detcore");
}

}  // namespace

int test_master_location() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(default_is_the_user_data_directory, clear_variables),
      cmocka_unit_test_setup(without_a_home_the_user_database_is_asked, clear_variables),
      cmocka_unit_test_setup(option_comes_before_variables_and_master_before_home, clear_variables),
      cmocka_unit_test_setup(relative_directories_are_made_absolute, clear_variables),
      cmocka_unit_test_setup(file_urls_name_directories, clear_variables),
      cmocka_unit_test_setup(web_addresses_name_a_master, clear_variables),
      cmocka_unit_test_setup(other_addresses_are_refused_by_origin, clear_variables),
      cmocka_unit_test_setup(store_is_hidden_in_the_home, clear_variables),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
