// Downloads and restores that the ranks of one machine share.
#include <cstring>
#include <set>

#include "tests/context/job.h"

namespace det::test {
namespace {

const context::DownloadRequest shared{};

// A stored checkpoint with a, d/b, d/c and metadata.json; gives its id.
std::string store(Job &job) {
  job.file("source/a", "A");
  job.file("source/d/b", "BB");
  job.file("source/d/c", "CCC");
  std::string id;
  assert_no_failure(job.run([&](Rank &rank) {
    const std::string own = rank.checkpoints.saver().upload(
        job.path("source"), R"({"steps_completed": 1})", true, nullptr);
    if (rank.number == 0) id = own;
  }));
  return id;
}

const storage::Resources everything{
    {"a", 1}, {"d/", 0}, {"d/b", 2}, {"d/c", 3}, {"metadata.json", 26}};

// Each rank downloads into a directory of its own, with its selector.
std::vector<std::exception_ptr> download(Job &job, const std::string &id,
                                         const std::vector<storage::Selector> &selectors,
                                         std::vector<int> *downloads = nullptr) {
  if (downloads != nullptr) downloads->assign(selectors.size(), 0);
  return job.run([&](Rank &rank) {
    const auto at = static_cast<size_t>(rank.number);
    rank.checkpoints.restorer().download(
        id, job.path("target" + std::to_string(rank.number)),
        {context::DownloadMode::local_workers_share, selectors[at], true});
    if (downloads != nullptr) (*downloads)[at] = rank.storage.downloads;
  });
}

storage::Resources target(const Job &job, int rank) {
  return storage::list_directory(job.path("target" + std::to_string(rank)));
}
bool has_target(const Job &job, int rank) {
  return fs::exists(job.path("target" + std::to_string(rank)));
}

void one_rank_of_each_machine_downloads(void **) {
  Job job(2, 2);
  const std::string id = store(job);
  std::vector<int> downloads;
  assert_no_failure(download(job, id, {nullptr, nullptr, nullptr, nullptr}, &downloads));
  assert_equal(downloads, (std::vector<int>{1, 0, 1, 0}));
  assert_equal(target(job, 0), everything);
  assert_equal(target(job, 2), everything);
  assert_false(has_target(job, 1) || has_target(job, 3));
}

void a_rank_without_selector_wants_everything(void **) {
  Job job(1, 2);
  const std::string id = store(job);
  std::set<std::string> seen;
  assert_no_failure(download(job, id, {nullptr, [&](const std::string &path) {
                                         seen.insert(path);
                                         return path == "d/b";
                                       }}));
  assert_equal(target(job, 0), everything);
  assert_equal(seen, (std::set<std::string>{"a", "d/", "d/b", "d/c", "metadata.json"}));
  fs::remove_all(job.path("target0"));
  assert_no_failure(download(job, id, {only("a"), nullptr}));
  assert_equal(target(job, 0), everything);
}

void selections_of_one_machine_are_united(void **) {
  Job job(2, 2);
  const std::string id = store(job);
  assert_no_failure(download(job, id, {only("a"), only("d/c"), nullptr, nullptr}));
  assert_equal(target(job, 0), (storage::Resources{{"a", 1}, {"d/", 0}, {"d/c", 3}}));
  assert_equal(target(job, 2), everything);
}

void a_machine_of_one_rank_selects_by_itself(void **) {
  Job job(2, 1);
  const std::string id = store(job);
  assert_no_failure(download(job, id, {only("a"), nullptr}));
  assert_equal(target(job, 0), (storage::Resources{{"a", 1}}));
  assert_equal(target(job, 1), everything);
}

void selecting_nothing_makes_no_directory(void **) {
  Job job(1, 2);
  const std::string id = store(job);
  assert_no_failure(download(job, id, {only("x"), only("y")}));
  assert_false(has_target(job, 0));
}

void a_chosen_file_that_is_missing_is_named(void **) {
  Job job(1, 2);
  const std::string id = store(job);
  fs::remove(job.base() / id / "d/b");
  assert_all_threw(download(job, id, {only("a"), only("d/b")}), Code::corrupt, "d/b");
  assert_no_failure(download(job, id, {only("a"), only("d/c")}));
}

void what_a_selector_throws_reaches_all(void **) {
  Job job(1, 3);
  const std::string id = store(job);
  const storage::Selector stops = [](const std::string &) -> bool {
    throw Error(Code::callback, "stop");
  };
  assert_all_threw(download(job, id, {nullptr, stops, only("a")}), Code::callback, "stop");
  assert_false(has_target(job, 0));
}

void without_sharing_a_rank_downloads_alone(void **) {
  Job job(1, 2);
  const std::string id = store(job);
  assert_no_failure(job.run([&](Rank &rank) {
    if (rank.number == 1)
      rank.checkpoints.restorer().download(id, job.path("target1"),
                                           {context::DownloadMode::no_shared, only("a"), true});
  }));
  assert_equal(target(job, 1), (storage::Resources{{"a", 1}}));
  const auto thrown = job.run([&](Rank &rank) {
    if (rank.number == 1)
      rank.checkpoints.restorer().restore("absent",
                                          {context::DownloadMode::no_shared, nullptr, true});
  });
  assert_non_null(strstr(text_of(thrown[1]).c_str(), "absent"));
}

void an_unknown_id_is_an_error_on_all(void **) {
  Job job(2, 2);
  store(job);
  assert_all_threw(download(job, "absent", {nullptr, nullptr, nullptr, nullptr}), Code::not_found,
                   "absent");
  assert_all_threw(download(job, "absent", {nullptr, only("a"), nullptr, only("a")}),
                   Code::not_found, "absent");
  assert_all_threw(
      job.run([](Rank &rank) { rank.checkpoints.restorer().restore("absent", shared); }),
      Code::not_found, "absent");
  assert_all_threw(
      job.run([](Rank &rank) { rank.checkpoints.restorer().restore("../out", shared); }),
      Code::invalid, "../out");
}

void ranks_that_want_different_checkpoints_get_none(void **) {
  Job job(2, 2);
  store(job);
  const auto differing = job.run([](Rank &rank) {
    rank.checkpoints.restorer().restore(rank.number == 3 ? "another" : "absent", shared);
  });
  assert_all_threw(differing, Code::conflict, "called det_checkpoint_reader_open");
  assert_true(test::text_of(differing[0]).find("'absent'") != std::string::npos);
  assert_true(test::text_of(differing[3]).find("'another'") != std::string::npos);
}

void ranks_that_download_and_restore_get_neither(void **) {
  Job job(2, 2);
  const std::string id = store(job);
  const auto differing = job.run([&](Rank &rank) {
    if (rank.number == 1) rank.checkpoints.restorer().download(id, job.path("to"), shared);
    else rank.checkpoints.restorer().restore(id, shared);
  });
  assert_all_threw(differing, Code::conflict, "called det_checkpoint_reader_open");
  assert_all_threw(differing, Code::conflict, "called det_checkpoint_download");
}

void one_rank_of_each_machine_restores_for_all(void **) {
  Job job(2, 2);
  const std::string id = store(job);
  std::vector<std::string> paths(4), read(4);
  std::vector<int> restores(4);
  assert_no_failure(job.run([&](Rank &rank) {
    const auto at = static_cast<size_t>(rank.number);
    const auto reader = rank.checkpoints.restorer().restore(id, shared);
    paths[at] = reader->path().string();
    read[at] = read_file(reader->path() / "d/b");
    restores[at] = rank.storage.restores;
  }));
  for (const std::string &path : paths)
    assert_string_equal(path.c_str(), (job.base() / id).c_str());
  for (const std::string &text : read) assert_string_equal(text.c_str(), "BB");
  assert_equal(restores, (std::vector<int>{1, 0, 1, 0}));
  assert_true(fs::exists(job.base() / id));
}

void a_selector_of_any_rank_is_ignored_on_restoring_with_a_warning(void **) {
  Job job(1, 2);
  const std::string id = store(job);
  assert_no_failure(job.run([&](Rank &rank) {
    const storage::Selector selector = rank.number == 1 ? only("a") : nullptr;
    const auto reader = rank.checkpoints.restorer().restore(
        id, {context::DownloadMode::local_workers_share, selector, true});
    if (!fs::exists(reader->path() / "d/c")) throw std::runtime_error("something is missing");
  }));
  assert_non_null(strstr(job.log.c_str(), "selector is ignored"));
}

void a_fault_of_the_reading_rank_reaches_its_machine(void **) {
  Job job(2, 2);
  const std::string id = store(job);
  job.faulty_rank = 2;
  for (const storage::Selector &selector : {storage::Selector(), only("a")}) {
    for (job.faulty_step = 0;; ++job.faulty_step) {
      const auto thrown = download(job, id, {selector, selector, selector, selector});
      if (!job.fault_happened) break;
      assert_no_failure({thrown[0], thrown[1]});
      assert_all_threw({thrown[2], thrown[3]}, Code::corrupt, "a fault of the test");
    }
    assert_int_equal(job.faulty_step, selector ? 2 : 1);
  }
}

}  // namespace
}  // namespace det::test

int test_checkpoint_read() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(one_rank_of_each_machine_downloads),
      cmocka_unit_test(a_rank_without_selector_wants_everything),
      cmocka_unit_test(selections_of_one_machine_are_united),
      cmocka_unit_test(a_machine_of_one_rank_selects_by_itself),
      cmocka_unit_test(selecting_nothing_makes_no_directory),
      cmocka_unit_test(a_chosen_file_that_is_missing_is_named),
      cmocka_unit_test(what_a_selector_throws_reaches_all),
      cmocka_unit_test(without_sharing_a_rank_downloads_alone),
      cmocka_unit_test(an_unknown_id_is_an_error_on_all),
      cmocka_unit_test(ranks_that_want_different_checkpoints_get_none),
      cmocka_unit_test(ranks_that_download_and_restore_get_neither),
      cmocka_unit_test(one_rank_of_each_machine_restores_for_all),
      cmocka_unit_test(a_selector_of_any_rank_is_ignored_on_restoring_with_a_warning),
      cmocka_unit_test(a_fault_of_the_reading_rank_reaches_its_machine),
  };
  return cmocka_run_group_tests_name("shared reading", tests, nullptr, nullptr);
}
