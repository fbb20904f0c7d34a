// Checkpoints that all ranks write into one directory.
#include <cstring>
#include <set>
#include <thread>

#include "core/storage/tree.h"
#include "tests/context/home.h"
#include "tests/context/job.h"
#include "tests/storage/odd_trees.h"

namespace det::test {
namespace {

void write(const std::string &directory, const std::string &name, const std::string &text) {
  const fs::path path = fs::path(directory) / name;
  fs::create_directories(path.parent_path());
  write_all(open_file(path, O_WRONLY | O_CREAT | O_TRUNC).get(), text, name);
}

void without_shard_only_the_chief_stores(void **) {
  Job job(1, 2);
  const auto thrown = job.run([&](Rank &rank) {
    if (rank.number == 1) rank.checkpoints.saver().begin(steps, false);
  });
  assert_non_null(strstr(text_of(thrown[1]).c_str(), ".store_path on non-chief rank 1"));
  assert_false(fs::exists(job.base()));
}

void an_abandoned_store_leaves_nothing(void **) {
  Job job(1, 1);
  const auto thrown = job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, false);
    write(store->path(), "weights", "x");
    throw std::runtime_error("the training failed");
  });
  assert_string_equal(text_of(thrown[0]).c_str(), "the training failed");
  assert_nothing_stored(job);
}

void all_ranks_write_into_one_directory(void **) {
  Job job(2, 2);
  std::vector<std::string> paths(4), ids(4);
  assert_no_failure(job.run([&](Rank &rank) {
    const auto at = static_cast<size_t>(rank.number);
    const auto store = rank.checkpoints.saver().begin(steps, true);
    paths[at] = store->path();
    ids[at] = store->id();
    write(store->path(), "own" + std::to_string(rank.number), "of a rank");
    if (rank.number == 3) write(store->path(), "sub/of 3", "below");
    store->commit();
  }));
  for (const std::string &path : paths) assert_string_equal(path.c_str(), paths[0].c_str());
  for (const std::string &id : ids) assert_string_equal(id.c_str(), ids[0].c_str());
  assert_equal(job.stored(), std::vector<std::string>{ids[0]});
  assert_true(job.staged().empty());
  assert_int_equal(job.reports.size(), 1);
  assert_int_equal(job.reports[0].first, 0);
  const storage::Resources expected{{"metadata.json", 26}, {"own0", 9}, {"own1", 9},    {"own2", 9},
                                    {"own3", 9},           {"sub/", 0}, {"sub/of 3", 5}};
  assert_equal(job.reports[0].second.resources, expected);
  assert_string_equal(read_file(job.base() / ids[0] / "metadata.json").c_str(),
                      "{\n  \"steps_completed\": 1\n}");
  // Every file is in the manifest.
  write((job.base() / ids[0]).string(), "own2", "of a rogue"); /* other bytes */
  const auto storage =
      storage::make_storage_from_uri(job.base().string(), std::make_shared<Logger>());
  try {
    storage->restore(ids[0], nullptr, true);
    fail_msg("a damaged file was not noticed");
  } catch (const Error &e) {
    assert_int_equal(static_cast<int>(e.code), static_cast<int>(Code::corrupt));
  }
}

void nothing_is_visible_before_the_last_rank_commits(void **) {
  Job job(1, 2);
  std::vector<std::string> seen;
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    if (rank.number == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      seen = job.stored();
    }
    store->commit();
  }));
  assert_true(seen.empty());
}

void a_link_that_leads_out_is_refused_on_all(void **) {
  Job job(1, 2);
  const auto thrown = job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    if (rank.number == 1) fs::create_symlink("/etc/passwd", store->path() + "/out");
    store->commit();
  });
  assert_all_threw(thrown, Code::invalid, "leads out");
  assert_nothing_stored(job);
}

void a_link_within_the_checkpoint_is_stored(void **) {
  Job job(1, 2);
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    if (rank.number == 1) {
      write(store->path(), "model", "weights");
      fs::create_symlink("model", store->path() + "/latest");
    }
    store->commit();
  }));
  const storage::Resources expected{{"latest", 7}, {"metadata.json", 26}, {"model", 7}};
  assert_equal(job.reports.at(0).second.resources, expected);
}

void odd_trees_come_back_from_a_directory(void **) {
  Job job(1, 1);
  job.durable = false;
  odd_trees_come_back_or_are_refused(job);
}

void odd_trees_come_back_deduplicated(void **) {
  Job job(1, 1);
  job.open_storage = [&](int, const std::shared_ptr<Logger> &logger) {
    return std::make_unique<storage::DirectoryStorage>(
        storage::DirectoryStorage::Options{job.base(), {}, "host_path", false, true}, logger);
  };
  odd_trees_come_back_or_are_refused(job);
}

// `leave` is what one rank does instead of its commit.
void assert_leaving_fails_the_others(int leaving,
                                     const std::function<void(context::OpenCheckpoint &)> &leave) {
  Job job(2, 2);
  std::vector<std::exception_ptr> thrown = job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    write(store->path(), "own" + std::to_string(rank.number), "x");
    if (rank.number == leaving) leave(*store);
    else store->commit();
  });
  assert_string_equal(text_of(thrown[static_cast<size_t>(leaving)]).c_str(), "");
  thrown.erase(thrown.begin() + leaving);
  assert_all_threw(thrown, Code::state, "rank " + std::to_string(leaving) + ": committing");
  assert_nothing_stored(job);
}

void an_abort_of_any_rank_fails_the_commit_of_the_others(void **) {
  for (int rank = 0; rank < 4; ++rank)
    assert_leaving_fails_the_others(rank, [](context::OpenCheckpoint &store) {
      store.abort();
      store.abort();
    });
}

void a_store_that_is_freed_fails_the_commit_of_the_others(void **) {
  for (int rank = 0; rank < 4; ++rank)
    assert_leaving_fails_the_others(rank, [](context::OpenCheckpoint &) {});
}

void all_ranks_may_abort(void **) {
  Job job(1, 3);
  assert_no_failure(
      job.run([&](Rank &rank) { rank.checkpoints.saver().begin(steps, true)->abort(); }));
  assert_nothing_stored(job);
}

void a_failed_commit_can_only_be_freed(void **) {
  Job job(1, 2);
  std::vector<std::string> second(2);
  const auto thrown = job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    if (rank.number == 1) write(store->path(), storage::manifest_name, "reserved");
    std::exception_ptr first;
    try {
      store->commit();
    } catch (const Error &) {
      first = std::current_exception();
    }
    try {
      store->commit();
    } catch (const Error &e) {
      second[static_cast<size_t>(rank.number)] = e.what();
    }
    store->abort();
    if (first) std::rethrow_exception(first);
  });
  assert_all_threw(thrown, Code::invalid, "reserved");
  for (const std::string &text : second) assert_non_null(strstr(text.c_str(), "before"));
  assert_nothing_stored(job);
}

void metadata_that_differs_is_refused_at_the_beginning(void **) {
  Job job(1, 2);
  const auto with = [&](const std::string &of_other) {
    return job.run([&](Rank &rank) {
      rank.checkpoints.saver().begin(rank.number == 0 ? steps : of_other, true)->commit();
    });
  };
  assert_all_threw(with(R"({"steps_completed": 2})"), Code::conflict, "metadata conflicts:");
  assert_all_threw(with("[]"), Code::invalid, "metadata_json");
  assert_false(fs::exists(job.base()));
  assert_no_failure(with("{}"));
}

void a_storage_that_not_all_machines_see_is_an_error_on_all(void **) {
  Job job(2, 1);
  const auto thrown = job.run([&](Rank &rank) {
    if (rank.number == 0) {
      rank.checkpoints.saver().begin(steps, true);
      return;
    }
    Faults none;
    context::Lifetime lifetime;
    FakeMaster master;
    Logger logger;
    // A context over a directory of this machine alone; its metadata calls report nothing.
    const TemporaryDirectory journal, local;
    const auto spool = journal::Spool::create(journal.path(), JournalKey{1, 1, 9, "journal"});
    const auto shared_logger = std::make_shared<Logger>();
    journal::Shipper shipper(*spool, master, shared_logger);
    tensorboard::TensorboardFiles files(tensorboard::TensorboardMode::manual, {});
    profiler::Regions regions;
    context::TensorboardContext tensorboard(lifetime, files, regions);
    context::TrainContext train(lifetime, master, spool.get(), &shipper, tensorboard, regions,
                                logger);
    FaultyStorage storage(storage::make_storage_from_uri((local / "base").string(), shared_logger),
                          none);
    context::CheckpointContext({lifetime, rank.communicator, master, storage, train, logger})
        .saver()
        .begin(steps, true);
  });
  assert_all_threw(thrown, Code::not_found, "all machines share");
  assert_nothing_stored(job);
}

void a_sweep_spares_what_ranks_still_write(void **) {
  Job job(1, 2);
  size_t orphans = 1;
  assert_no_failure(job.run([&](Rank &rank) {
    const auto store = rank.checkpoints.saver().begin(steps, true);
    if (rank.number == 1) orphans = rank.storage.sweep().size();
    write(store->path(), "own" + std::to_string(rank.number), "x");
    store->commit();
  }));
  assert_int_equal(orphans, 0);
  assert_int_equal(job.stored().size(), 1);
}

void a_job_saves_into_its_store_what_the_next_job_restores(void **) {
  const Home home;
  std::vector<std::string> ids(3), read(2);
  assert_no_failure(run_ranks(1, 3, [&](comm::Communicator &communicator) {
    const auto core = home.start(communicator);
    report(*core, "validation" + std::to_string(communicator.ranks().rank), 1);
    const auto store = core->checkpoint().saver().begin(steps, true);
    write(store->path(), "own" + std::to_string(communicator.ranks().rank), "x");
    store->commit();
    ids[static_cast<size_t>(communicator.ranks().rank)] = store->id();
    core->close(engine::RunEnd::ok);
  }));
  assert_equal(ids, std::vector<std::string>(3, home.text("SELECT uuid FROM checkpoints")));
  assert_no_failure(run_ranks(1, 2, [&](comm::Communicator &communicator) {
    const auto core = home.start(communicator);
    const auto reader = core->checkpoint().restorer().restore(ids[0], {});
    read[static_cast<size_t>(communicator.ranks().rank)] = read_file(reader->path() / "own2");
    core->close(engine::RunEnd::ok);
  }));
  assert_equal(read, (std::vector<std::string>{"x", "x"}));
}

// Every step of every rank fails once.
void a_fault_of_any_rank_at_any_step_reaches_all(void **) {
  Job job(2, 2);
  std::set<std::string> seen;
  for (job.faulty_rank = 0; job.faulty_rank < 4; ++job.faulty_rank)
    for (job.faulty_step = 0;; ++job.faulty_step) {
      const auto thrown = job.run([&](Rank &rank) {
        const auto store = rank.checkpoints.saver().begin(steps, true);
        write(store->path(), "own" + std::to_string(rank.number), "x");
        store->commit();
      });
      if (!job.fault_happened) {
        assert_no_failure(thrown);
        fs::remove_all(job.base() / job.stored().at(0));
        break;
      }
      assert_all_threw(thrown, Code::corrupt, "a fault of the test");
      assert_nothing_stored(job);
      const std::string text = text_of(thrown[static_cast<size_t>(job.faulty_rank)]);
      seen.insert(text.substr(0, text.find(':')));
    }
  assert_equal(seen, (std::set<std::string>{"beginning", "committing", "finishing", "joining",
                                            "listing", "reporting"}));
}

}  // namespace
}  // namespace det::test

int test_checkpoint_store() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(without_shard_only_the_chief_stores),
      cmocka_unit_test(an_abandoned_store_leaves_nothing),
      cmocka_unit_test(all_ranks_write_into_one_directory),
      cmocka_unit_test(nothing_is_visible_before_the_last_rank_commits),
      cmocka_unit_test(a_link_that_leads_out_is_refused_on_all),
      cmocka_unit_test(a_link_within_the_checkpoint_is_stored),
      cmocka_unit_test(odd_trees_come_back_from_a_directory),
      cmocka_unit_test(odd_trees_come_back_deduplicated),
      cmocka_unit_test(an_abort_of_any_rank_fails_the_commit_of_the_others),
      cmocka_unit_test(a_store_that_is_freed_fails_the_commit_of_the_others),
      cmocka_unit_test(all_ranks_may_abort),
      cmocka_unit_test(a_failed_commit_can_only_be_freed),
      cmocka_unit_test(metadata_that_differs_is_refused_at_the_beginning),
      cmocka_unit_test(a_storage_that_not_all_machines_see_is_an_error_on_all),
      cmocka_unit_test(a_sweep_spares_what_ranks_still_write),
      cmocka_unit_test(a_job_saves_into_its_store_what_the_next_job_restores),
      cmocka_unit_test(a_fault_of_any_rank_at_any_step_reaches_all),
  };
  return cmocka_run_group_tests_name("sharded stores", tests, nullptr, nullptr);
}
