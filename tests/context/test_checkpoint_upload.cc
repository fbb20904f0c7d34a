// Sharded uploads.
#include <sys/stat.h>

#include <cstring>
#include <set>

#include "tests/context/job.h"

namespace det::test {
namespace {

// The directory each rank names; "" for none.
using Directories = std::vector<std::string>;
using Selectors = std::vector<storage::Selector>;

struct Uploaded {
  std::vector<std::exception_ptr> thrown;
  std::vector<std::string> ids;
  std::vector<int> reported;  // whether there was a report when the call returned
};

Uploaded upload(Job &job, const Directories &directories, const Selectors &selectors = {}) {
  Uploaded uploaded;
  uploaded.ids.resize(directories.size());
  uploaded.reported.resize(directories.size());
  uploaded.thrown = job.run([&](Rank &rank) {
    const auto at = static_cast<size_t>(rank.number);
    const fs::path directory = directories[at].empty() ? "" : job.path(directories[at]);
    uploaded.ids[at] = rank.checkpoints.saver().upload(directory, steps, true,
                                                       selectors.empty() ? nullptr : selectors[at]);
    uploaded.reported[at] = job.has_reports();
  });
  return uploaded;
}

// One report, by the chief, of a stored checkpoint with these files.
void assert_stored(const Job &job, const Uploaded &uploaded, const storage::Resources &expected) {
  assert_no_failure(uploaded.thrown);
  for (const std::string &id : uploaded.ids)
    assert_string_equal(id.c_str(), uploaded.ids[0].c_str());
  assert_equal(uploaded.reported, std::vector<int>(uploaded.ids.size(), 1));
  assert_equal(job.stored(), std::vector<std::string>{uploaded.ids[0]});
  assert_true(job.staged().empty());
  assert_int_equal(job.reports.size(), 1);
  const auto &[rank, report] = job.reports[0];
  assert_int_equal(rank, 0);
  assert_string_equal(report.id.c_str(), uploaded.ids[0].c_str());
  for (const auto &[path, size] : expected)
    if (!report.resources.contains(path)) fail_msg("'%s' is not reported", path.c_str());
  assert_equal(report.resources, expected);
  assert_equal(storage::list_directory(job.base() / uploaded.ids[0]), expected);
  assert_string_equal(read_file(job.base() / uploaded.ids[0] / "metadata.json").c_str(),
                      "{\n  \"steps_completed\": 1\n}");
  storage::make_storage_from_uri(job.base().string(), std::make_shared<Logger>())
      ->restore(uploaded.ids[0], nullptr, true);
}

void without_shard_only_the_chief_uploads(void **) {
  Job job(1, 2);
  job.file("d/a", "A");
  const auto thrown = job.run([&](Rank &rank) {
    if (rank.number == 0) rank.checkpoints.saver().upload(job.path("d"), steps, false, nullptr);
    else rank.checkpoints.saver().upload(job.path("d"), "no JSON", false, nullptr);
  });
  assert_string_equal(text_of(thrown[0]).c_str(), "");
  assert_non_null(strstr(text_of(thrown[1]).c_str(), "upload on non-chief rank 1"));
  assert_int_equal(job.reports.size(), 1);
  const auto lacking =
      job.run([&](Rank &rank) { rank.checkpoints.saver().upload("", steps, false, nullptr); });
  assert_non_null(strstr(text_of(lacking[0]).c_str(), "directory must not be NULL"));
  assert_true(job.reports.empty());
}

void directories_of_two_machines_are_united(void **) {
  Job job(2, 2);
  for (const std::string machine : {"n0/", "n1/"}) {
    job.file(machine + "common", "the same");
    job.file(machine + "sub/common", "the same too");
  }
  job.file("n0/first", "1");
  job.file("n1/sub/second", "22");
  const std::time_t past = 1'000'000'000;
  const timespec times[2] = {{past, 0}, {past, 0}};
  utimensat(AT_FDCWD, job.path("n0/common").c_str(), times, 0);
  const Uploaded uploaded = upload(job, {"n0", "n0", "n1", "n1"});
  assert_stored(job, uploaded,
                {{"common", 8},
                 {"first", 1},
                 {"metadata.json", 26},
                 {"sub/", 0},
                 {"sub/common", 12},
                 {"sub/second", 2}});
  // The lowest rank's copy: it has its file's time.
  struct stat about {};
  stat((job.base() / uploaded.ids[0] / "common").c_str(), &about);
  assert_int_equal(about.st_mtim.tv_sec, past);
  assert_true(fs::exists(job.path("n0/metadata.json")));
  assert_false(fs::exists(job.path("n1/metadata.json")));
}

void each_rank_brings_its_own_shard(void **) {
  Job job(1, 4);
  storage::Resources expected{{"metadata.json", 26}, {"empty/", 0}};
  for (int rank = 0; rank < 4; ++rank) {
    const std::string name = "shard" + std::to_string(rank);
    job.file("d" + std::to_string(rank) + "/" + name, std::string(static_cast<size_t>(rank), 'x'));
    fs::create_directory(job.path("d" + std::to_string(rank) + "/empty"));
    expected[name] = static_cast<uint64_t>(rank);
  }
  assert_stored(job, upload(job, {"d0", "d1", "d2", "d3"}), expected);
}

void many_files_of_each_rank_arrive(void **) {
  Job job(1, 2);
  storage::Resources expected{{"metadata.json", 26}};
  for (int i = 0; i < 60; ++i) {
    const std::string name = "file" + std::to_string(i);
    job.file("d" + std::to_string(i % 2) + "/" + name, name);
    expected[name] = name.size();
  }
  assert_stored(job, upload(job, {"d0", "d1"}), expected);
}

void a_directory_that_ranks_share_is_uploaded_once(void **) {
  Job job(1, 3);
  job.file("d/a", "A");
  job.file("d/metadata.json", "of an earlier upload");
  fs::create_directory_symlink(job.path("d"), job.path("link"));
  assert_stored(job, upload(job, {"d", "link", "d"}), {{"a", 1}, {"metadata.json", 26}});
}

// Whether the other rank takes part in storing what both name.
bool both_store(int nodes, int per_node) {
  Job job(nodes, per_node);
  job.file("d/a", "A");
  job.faulty_rank = 1;
  upload(job, {"d", "d"});
  return job.fault_happened;
}

void equal_numbers_on_two_machines_are_two_directories(void **) {
  assert_false(both_store(1, 2));
  assert_true(both_store(2, 1));
}

void names_that_are_no_text_survive(void **) {
  Job job(1, 2);
  job.file("d0/\xff\xfe", "bytes");
  job.file("d1/a", "A");
  assert_stored(job, upload(job, {"d0", "d1"}), {{"\xff\xfe", 5}, {"a", 1}, {"metadata.json", 26}});
}

void one_rank_may_bring_everything(void **) {
  Job job(2, 2);
  job.file("d/a", "A");
  assert_stored(job, upload(job, {"", "", "d", ""}), {{"a", 1}, {"metadata.json", 26}});
  assert_true(fs::exists(job.path("d/metadata.json")));
}

void the_metadata_of_earlier_uploads_is_no_conflict(void **) {
  Job job(1, 2);
  job.file("d0/metadata.json", "{\"steps_completed\": 12}");
  job.file("d1/metadata.json", "{\"steps_completed\": 34}");
  assert_stored(job, upload(job, {"d0", "d1"}), {{"metadata.json", 26}});
}

void selections_are_united(void **) {
  Job job(2, 2);
  for (const char *name : {"n0/a", "n0/b", "n0/c"}) job.file(name, "of 0");
  for (const char *name : {"n1/d", "n1/e"}) job.file(name, "of 1");
  assert_stored(job,
                upload(job, {"n0", "n0", "n1", "n1"}, {only("a"), only("b"), nullptr, nullptr}),
                {{"a", 4}, {"b", 4}, {"d", 4}, {"e", 4}, {"metadata.json", 26}});
}

void ranks_that_select_the_same_file_of_one_directory_agree(void **) {
  Job job(1, 2);
  job.file("d/a", "A");
  assert_stored(job, upload(job, {"d", "d"}, {only("a"), only("a")}),
                {{"a", 1}, {"metadata.json", 26}});
}

void selecting_nothing_leaves_the_metadata(void **) {
  Job job(1, 2);
  job.file("d/a", "A");
  assert_stored(job, upload(job, {"d", "d"}, {only("x"), only("x")}), {{"metadata.json", 26}});
}

void what_a_selector_of_uploads_throws_reaches_all(void **) {
  Job job(1, 2);
  job.file("d/a", "A");
  const storage::Selector stops = [](const std::string &) -> bool {
    throw Error(Code::callback, "stop");
  };
  assert_all_threw(upload(job, {"d", "d"}, {nullptr, stops}).thrown, Code::callback, "stop");
  assert_nothing_stored(job);
}

void a_directory_is_needed_somewhere_and_for_selectors(void **) {
  Job job(1, 2);
  job.file("d/a", "A");
  assert_all_threw(upload(job, {"", ""}).thrown, Code::state, "no rank gave a directory");
  assert_all_threw(upload(job, {"d", ""}, {nullptr, only("a")}).thrown, Code::state, "a selector");
  assert_all_threw(upload(job, {"d", "absent"}).thrown, Code::not_found, "absent");
  assert_all_threw(upload(job, {"d/a", "d"}).thrown, Code::invalid, "not a directory");
  assert_nothing_stored(job);
}

void different_files_of_one_name_are_refused_on_all(void **) {
  Job job(2, 2);
  for (const std::string machine : {"n0/", "n1/"}) {
    job.file(machine + "bytes", machine);
    job.file(machine + "size", machine == "n0/" ? "longer" : "short");
    job.file(machine + "same", "same");
  }
  const Uploaded uploaded = upload(job, {"n0", "n0", "n1", "n1"});
  assert_all_threw(uploaded.thrown, Code::conflict, "refusing to upload with files conflicts:");
  assert_non_null(
      strstr(text_of(uploaded.thrown[0]).c_str(), ":\n  bytes: ranks 0, 2\n  size: ranks 0, 2"));
  assert_null(strchr(text_of(uploaded.thrown[3]).c_str(), '\n'));
  assert_nothing_stored(job);
}

void a_file_here_and_a_directory_there_are_refused(void **) {
  Job job(2, 1);
  job.file("n0/abc/inside", "x");
  job.file("n1/abc", "x");
  const Uploaded uploaded = upload(job, {"n0", "n1"});
  assert_all_threw(uploaded.thrown, Code::conflict, "refusing to upload with files conflicts:");
  assert_non_null(strstr(text_of(uploaded.thrown[0]).c_str(), "abc: ranks 0, 1"));
  assert_nothing_stored(job);
}

void metadata_that_differs_is_refused_on_all(void **) {
  Job job(1, 3);
  job.file("d/a", "A");
  const auto thrown = job.run([&](Rank &rank) {
    const std::string text = R"({"steps_completed": )" + std::to_string(rank.number / 2) + "}";
    rank.checkpoints.saver().upload(job.path("d"), text, true, nullptr);
  });
  assert_all_threw(thrown, Code::conflict, "metadata conflicts:");
  assert_non_null(strstr(text_of(thrown[0]).c_str(), "/steps_completed: ranks 0, 1, 2"));
  assert_nothing_stored(job);
}

void metadata_of_all_ranks_is_one(void **) {
  Job job(1, 2);
  job.file("d/a", "A");
  assert_no_failure(job.run([&](Rank &rank) {
    const char *text = rank.number == 0 ? "{}" : R"({"steps_completed": 5, "by": "one"})";
    rank.checkpoints.saver().upload(job.path("d"), text, true, nullptr);
  }));
  assert_string_equal(job.reports.at(0).second.metadata.dump().c_str(),
                      R"({"steps_completed":5,"by":"one"})");
}

void metadata_is_checked_before_anything_is_stored(void **) {
  Job job(1, 2);
  job.file("d/a", "A");
  const auto with = [&](const char *of_chief, const char *of_other) {
    return job.run([&](Rank &rank) {
      rank.checkpoints.saver().upload(job.path("d"), rank.number == 0 ? of_chief : of_other, true,
                                      nullptr);
    });
  };
  assert_all_threw(with("{}", "{}"), Code::invalid, "lacks \"steps_completed\"");
  assert_all_threw(with(steps, R"({"steps_completed": "7"})"), Code::conflict, "metadata");
  assert_all_threw(with("{}", R"({"steps_completed": "7"})"), Code::invalid, "must be an integer");
  assert_all_threw(with(steps, "{"), Code::invalid, "metadata_json");
  assert_false(fs::exists(job.path("d/metadata.json")));
  assert_nothing_stored(job);
}

// Every step of every rank fails once.
void a_fault_of_any_rank_at_any_step_of_an_upload_reaches_all(void **) {
  Job job(2, 2);
  for (const std::string rank : {"0", "1", "2", "3"}) job.file("d" + rank + "/own" + rank, rank);
  std::set<std::string> seen;
  for (job.faulty_rank = 0; job.faulty_rank < 4; ++job.faulty_rank)
    for (job.faulty_step = 0;; ++job.faulty_step) {
      const Uploaded uploaded = upload(job, {"d0", "d1", "d2", "d3"});
      if (!job.fault_happened) {
        assert_no_failure(uploaded.thrown);
        fs::remove_all(job.base() / uploaded.ids[0]);
        break;
      }
      assert_all_threw(uploaded.thrown, Code::corrupt, "a fault of the test");
      assert_nothing_stored(job);
      const std::string text = text_of(uploaded.thrown[static_cast<size_t>(job.faulty_rank)]);
      seen.insert(text.substr(0, text.find(':')));
    }
  assert_equal(seen, (std::set<std::string>{"adding", "beginning", "committing", "finishing",
                                            "joining", "reporting"}));
}

}  // namespace
}  // namespace det::test

int test_checkpoint_upload() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(without_shard_only_the_chief_uploads),
      cmocka_unit_test(directories_of_two_machines_are_united),
      cmocka_unit_test(each_rank_brings_its_own_shard),
      cmocka_unit_test(many_files_of_each_rank_arrive),
      cmocka_unit_test(a_directory_that_ranks_share_is_uploaded_once),
      cmocka_unit_test(equal_numbers_on_two_machines_are_two_directories),
      cmocka_unit_test(names_that_are_no_text_survive),
      cmocka_unit_test(one_rank_may_bring_everything),
      cmocka_unit_test(the_metadata_of_earlier_uploads_is_no_conflict),
      cmocka_unit_test(selections_are_united),
      cmocka_unit_test(ranks_that_select_the_same_file_of_one_directory_agree),
      cmocka_unit_test(selecting_nothing_leaves_the_metadata),
      cmocka_unit_test(what_a_selector_of_uploads_throws_reaches_all),
      cmocka_unit_test(a_directory_is_needed_somewhere_and_for_selectors),
      cmocka_unit_test(different_files_of_one_name_are_refused_on_all),
      cmocka_unit_test(a_file_here_and_a_directory_there_are_refused),
      cmocka_unit_test(metadata_that_differs_is_refused_on_all),
      cmocka_unit_test(metadata_of_all_ranks_is_one),
      cmocka_unit_test(metadata_is_checked_before_anything_is_stored),
      cmocka_unit_test(a_fault_of_any_rank_at_any_step_of_an_upload_reaches_all),
  };
  return cmocka_run_group_tests_name("sharded uploads", tests, nullptr, nullptr);
}
