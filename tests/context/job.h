// A job whose ranks are threads, each with checkpoints of its own over one storage directory.
#pragma once

#include <fcntl.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/context/checkpoint/checkpoint_context.h"
#include "core/context/train.h"
#include "core/storage/directory_storage.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"
#include "tests/context/fakes.h"
#include "tests/patience.h"
#include "tests/temporary_directory.h"

namespace det::test {

namespace fs = std::filesystem;

// Counts what a rank asks of storage and master, and fails it at one of these steps.
struct Faults {
  int step = -1;  // negative: never
  bool happened = false;

  void pass(const std::string &what) {
    if (step < 0 || step-- != 0) return;
    happened = true;
    throw Error(Code::corrupt, what + ": a fault of the test");
  }
};

class FaultyWriter : public storage::CheckpointWriter {
 public:
  FaultyWriter(std::unique_ptr<storage::CheckpointWriter> real, Faults &faults)
      : real_(std::move(real)), faults_(faults) {}

  const std::string &id() const override { return real_->id(); }
  const fs::path &path() const override { return real_->path(); }
  void add(const fs::path &source, const std::optional<std::vector<std::string>> &paths,
           storage::Progress *progress) override {
    faults_.pass("adding");
    real_->add(source, paths, progress);
  }
  void copy(const fs::path &source, const std::optional<std::vector<std::string>> &paths,
            storage::Progress *progress) override {
    faults_.pass("copying");
    real_->copy(source, paths, progress);
  }
  void put(const std::string &name, std::string_view bytes) override { real_->put(name, bytes); }
  void know(const storage::HashedFile &file) override { real_->know(file); }
  storage::Resources list() const override {
    faults_.pass("listing");
    return real_->list();
  }
  std::string finish(const std::vector<std::string> &paths, storage::Progress *progress) override {
    faults_.pass("finishing");
    return real_->finish(paths, progress);
  }
  void promise_share(int rank) override {
    faults_.pass("promising");
    real_->promise_share(rank);
  }
  void leave_share(int rank, const std::string &share) override { real_->leave_share(rank, share); }
  std::optional<std::string> take_share(int rank) override { return real_->take_share(rank); }
  void seal(const std::string &owner) override {
    faults_.pass("sealing");
    real_->seal(owner);
  }
  storage::Resources commit(const std::vector<std::string> &finished,
                            storage::Progress *progress) override {
    faults_.pass("committing");
    return real_->commit(finished, progress);
  }
  void announced() override { real_->announced(); }
  void abort() override { real_->abort(); }

 private:
  const std::unique_ptr<storage::CheckpointWriter> real_;
  Faults &faults_;
};

class FaultyStorage : public storage::Storage {
 public:
  FaultyStorage(std::unique_ptr<storage::Storage> real, Faults &faults)
      : real_(std::move(real)), faults_(faults) {}

  void serve(const std::string &cluster_id) override { real_->serve(cluster_id); }
  std::unique_ptr<storage::CheckpointWriter> begin(const std::string &id) override {
    faults_.pass("beginning");
    return std::make_unique<FaultyWriter>(real_->begin(id), faults_);
  }
  std::unique_ptr<storage::CheckpointWriter> join(const std::string &id) override {
    faults_.pass("joining");
    return std::make_unique<FaultyWriter>(real_->join(id), faults_);
  }
  storage::Resources list(const std::string &id) override {
    faults_.pass("listing");
    return real_->list(id);
  }
  void download(const std::string &id, const fs::path &target,
                const storage::ReadOptions &options) override {
    faults_.pass("downloading");
    ++downloads;
    real_->download(id, target, options);
  }
  std::unique_ptr<storage::CheckpointReader> restore(const std::string &id,
                                                     const storage::ReadOptions &options) override {
    faults_.pass("restoring");
    ++restores;
    return real_->restore(id, options);
  }
  using storage::Storage::download;
  using storage::Storage::restore;
  void withdraw(const std::string &id) override { real_->withdraw(id); }
  void remove(const std::string &id) override { real_->remove(id); }
  storage::Resources remove_matching(const std::string &id,
                                     const std::vector<std::string> &globs) override {
    return real_->remove_matching(id, globs);
  }
  std::vector<std::unique_ptr<storage::CheckpointWriter>> take_sealed(
      const std::string &owner) override {
    return real_->take_sealed(owner);
  }
  std::vector<std::string> sweep() override { return real_->sweep(); }
  void settle(const std::string &id) override { real_->settle(id); }
  Json config() const override { return real_->config(); }
  fs::path directory() const override { return real_->directory(); }

  int downloads = 0, restores = 0;

 private:
  const std::unique_ptr<storage::Storage> real_;
  Faults &faults_;
};

// One rank while it runs.
struct Rank {
  comm::Communicator &communicator;
  context::CheckpointContext &checkpoints;
  FaultyStorage &storage;
  int number;
};

class Job {
 public:
  Job(int nodes, int per_node) : nodes_(nodes), per_node_(per_node) {}

  // What each rank threw.
  std::vector<std::exception_ptr> run(const std::function<void(Rank &)> &work) {
    log.clear();
    reports.clear();
    fault_happened = false;
    return run_ranks(nodes_, per_node_, [&](comm::Communicator &c) { run_rank(c, work); });
  }

  fs::path path(const std::string &name) const { return root_ / name; }
  fs::path base() const { return path("base"); }

  // A file below the directory of the test.
  void file(const std::string &name, const std::string &text) const {
    fs::create_directories(path(name).parent_path());
    write_all(open_file(path(name), O_WRONLY | O_CREAT | O_TRUNC).get(), text, name);
  }

  // Names in the storage; what is staged, begun or locked among them.
  std::vector<std::string> stored() const { return names_in(base()); }
  std::vector<std::string> staged() const { return names_in(base() / ".partial"); }

  // Also while ranks run.
  bool has_reports() {
    const std::lock_guard lock(mutex_);
    return !reports.empty();
  }

  bool durable = true;  // false for measurements
  std::function<void()> before_report = [] {};
  // Of a rank; without it, a directory that all share.
  std::function<std::unique_ptr<storage::Storage>(int rank, std::shared_ptr<Logger>)> open_storage;

  // For the next runs: on this rank, this step fails.
  int faulty_rank = -1, faulty_step = 0;

  // Of the last run.
  std::vector<std::pair<int, engine::CheckpointReport>> reports;  // with the rank that reported
  bool fault_happened = false;
  std::string log;

 private:
  class ReportingMaster : public FakeMaster {
   public:
    ReportingMaster(Job &job, int rank, Faults &faults) : job_(job), rank_(rank), faults_(faults) {}
    void report(const engine::CheckpointReport &report) override {
      faults_.pass("reporting");
      job_.before_report();
      const std::lock_guard lock(job_.mutex_);
      job_.reports.emplace_back(rank_, report);
    }

   private:
    Job &job_;
    const int rank_;
    Faults &faults_;
  };

  static std::vector<std::string> names_in(const fs::path &directory) {
    std::vector<std::string> names;
    std::error_code absent;
    for (const auto &entry : fs::directory_iterator(directory, absent))
      if (const std::string name = entry.path().filename(); !name.starts_with('.'))
        names.push_back(name);
    return names;
  }

  void run_rank(comm::Communicator &communicator, const std::function<void(Rank &)> &work) {
    const int rank = communicator.ranks().rank;
    Faults faults{rank == faulty_rank ? faulty_step : -1};
    const auto logger =
        std::make_shared<Logger>(LogLevel::warning, [this](LogLevel, const std::string &line) {
          const std::lock_guard lock(mutex_);
          log += line + "\n";
        });
    const context::Lifetime lifetime;
    ReportingMaster master(*this, rank, faults);
    const TemporaryDirectory journal;
    const auto spool = journal::Spool::create(journal.path(), JournalKey{1, 1, rank, "journal"});
    journal::Shipper shipper(*spool, master, logger);
    tensorboard::TensorboardFiles files(tensorboard::TensorboardMode::manual, {});
    profiler::Regions regions;
    context::TensorboardContext tensorboard(lifetime, files, regions);
    context::TrainContext train(lifetime, master, spool.get(), &shipper, tensorboard, regions,
                                *logger);
    FaultyStorage storage(
        open_storage
            ? open_storage(rank, logger)
            : std::make_unique<storage::DirectoryStorage>(
                  storage::DirectoryStorage::Options{base(), {}, "host_path", durable}, logger),
        faults);
    context::CheckpointContext checkpoints(
        {lifetime, communicator, master, storage, train, *logger});
    Rank self{communicator, checkpoints, storage, rank};
    std::exception_ptr thrown;
    try {
      work(self);
    } catch (...) {
      thrown = std::current_exception();
    }
    if (faults.happened) fault_happened = true;  // one rank at most has faults
    shipper.stop(std::chrono::seconds(TEST_PATIENCE_SECONDS));
    if (thrown) std::rethrow_exception(thrown);
  }

  const int nodes_, per_node_;
  const TemporaryDirectory root_;
  std::mutex mutex_;
};

// On every rank an error of this code, with this in its message.
inline void assert_all_threw(const std::vector<std::exception_ptr> &thrown, Code code,
                             const std::string &fragment) {
  for (const std::exception_ptr &each : thrown) {
    const Code found = code_of(each);
    if (found != code || text_of(each).find(fragment) == std::string::npos)
      fail_msg("expected code %d with '%s', not code %d: %s", static_cast<int>(code),
               fragment.c_str(), static_cast<int>(found), text_of(each).c_str());
  }
}

// The metadata that these tests store with.
inline constexpr const char *steps = R"({"steps_completed": 1})";

inline void assert_nothing_stored(const Job &job) {
  assert_true(job.stored().empty());
  assert_true(job.staged().empty());
  assert_true(job.reports.empty());
}

// Takes one path and no other.
inline storage::Selector only(const std::string &wanted) {
  return [wanted](const std::string &path) { return path == wanted; };
}

}  // namespace det::test
