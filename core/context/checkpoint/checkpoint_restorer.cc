#include "core/context/checkpoint/checkpoint_restorer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/context/train.h"

namespace det::context {

namespace fs = std::filesystem;

namespace {

constexpr const char *everything = "*";  // the vote of a rank that does not select

// What another rank of this machine opened.
class OpenedElsewhere : public storage::CheckpointReader {
 public:
  explicit OpenedElsewhere(fs::path path) : path_(std::move(path)) {}
  const fs::path &path() const override { return path_; }

 private:
  const fs::path path_;
};

// What must not go meanwhile.
class Pinned : public storage::CheckpointReader {
 public:
  Pinned(std::unique_ptr<storage::CheckpointReader> real, std::shared_ptr<void> pin)
      : real_(std::move(real)), pin_(std::move(pin)) {}
  const fs::path &path() const override { return real_->path(); }

 private:
  const std::unique_ptr<storage::CheckpointReader> real_;
  const std::shared_ptr<void> pin_;
};

}  // namespace

// From the copy on this machine, where there is one that is in order.
template <class Read>
auto CheckpointRestorer::read_nearest(const std::string &id, const Read &read) {
  const std::shared_ptr<SaveStage> at = stage_.get();
  if (at && at->has(id, run_.storage.list(id))) try {
      const std::shared_ptr<void> pin = at->pin(id);
      return read(at->storage(), pin);
    } catch (const Error &error) {
      if (error.code != Code::corrupt) throw;
      run_.logger.warning(error.what(), "; it is read from its storage instead");
      at->drop(id);
    }
  return read(run_.storage, std::shared_ptr<void>());
}

void CheckpointRestorer::download_nearest(const std::string &id, const fs::path &directory,
                                          const storage::ReadOptions &options) {
  read_nearest(id, [&](storage::Storage &from, const std::shared_ptr<void> &) {
    from.download(id, directory, options);
  });
}

std::unique_ptr<storage::CheckpointReader> CheckpointRestorer::restore_nearest(
    const std::string &id, const storage::ReadOptions &options) {
  return read_nearest(id, [&](storage::Storage &from, std::shared_ptr<void> pin) {
    if (!pin) return from.restore(id, options);
    storage::ReadOptions all = options;
    all.selector = nullptr;
    std::unique_ptr<storage::CheckpointReader> reader = from.restore(id, all);
    return std::unique_ptr<storage::CheckpointReader>(
        std::make_unique<Pinned>(std::move(reader), std::move(pin)));
  });
}

std::unique_ptr<storage::CheckpointReader> CheckpointRestorer::restore_for_machine(
    const std::string &id, const storage::ReadOptions &options) {
  auto copy = run_.storage.make_copy(id);
  if (!copy) return restore_nearest(id, options);
  download_nearest(id, copy->path(), options);
  return copy;
}

storage::ReadOptions CheckpointRestorer::options_of(const std::string &id,
                                                    const DownloadRequest &request,
                                                    storage::Selector selector) {
  return {std::move(selector), request.checksums,
          [this, id] { return run_.master.checkpoints().has_made(id); }, request.progress};
}

bool CheckpointRestorer::anybody_selects(const comm::Call &call, const std::string &id,
                                         const DownloadRequest &request) {
  const std::vector<std::string> selects = comm::all_agree(run_.communicator, call, [&] {
    storage::check_storage_id(id);
    return std::string(request.selector ? "selects" : "");
  });
  return std::ranges::any_of(selects, [](const std::string &text) { return !text.empty(); });
}

// What any rank of this machine wants. Empty, for everything, where one of them does not select.
storage::Selector CheckpointRestorer::choose_together(const comm::Call &call, const std::string &id,
                                                      const storage::Selector &selector) {
  if (run_.communicator.ranks().local_size == 1) return selector;
  const std::string list = comm::local_chief_decides(run_.communicator, call, [&] {
    Json names = Json::array();
    for (const auto &[path, size] : run_.storage.list(id)) names.push_back(path);
    return pack(names);
  });
  const auto paths = unpack(list, "the files of a checkpoint").get<std::vector<std::string>>();
  const std::vector<std::string> votes = comm::all_agree_local(run_.communicator, call, [&] {
    if (!selector) return std::string(everything);
    std::string vote;
    for (const std::string &path : paths) vote += selector(path) ? '1' : '0';
    return vote;
  });
  if (std::ranges::count(votes, everything) > 0) return nullptr;
  std::set<std::string> chosen;
  for (const std::string &vote : votes)
    for (size_t i = 0; i < paths.size(); ++i)
      if (vote.at(i) == '1') chosen.insert(paths[i]);
  return [chosen = std::move(chosen)](const std::string &path) { return chosen.contains(path); };
}

void CheckpointRestorer::download(const std::string &id, const fs::path &directory,
                                  const DownloadRequest &request) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  const std::shared_ptr<void> reading = retention_.hold(id);
  if (request.mode == DownloadMode::no_shared) {
    storage::check_storage_id(id);
    download_nearest(id, directory, options_of(id, request, request.selector));
    return;
  }
  const comm::Call call{comm::ApiCall::checkpoint_download, id};
  storage::Selector selector;
  if (anybody_selects(call, id, request)) selector = choose_together(call, id, request.selector);
  comm::local_chief_decides(run_.communicator, call, [&] {
    download_nearest(id, directory, options_of(id, request, std::move(selector)));
    return std::string();
  });
}

std::unique_ptr<storage::CheckpointReader> CheckpointRestorer::restore(
    const std::string &id, const DownloadRequest &request) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  std::shared_ptr<void> reading = retention_.hold(id);
  if (request.mode == DownloadMode::no_shared) {
    storage::check_storage_id(id);
    return std::make_unique<Pinned>(restore_nearest(id, options_of(id, request, request.selector)),
                                    std::move(reading));
  }
  const comm::Call call{comm::ApiCall::checkpoint_restore, id};
  storage::Selector selector;
  if (anybody_selects(call, id, request)) {
    // A file system hands out what is stored: a selector of any rank only earns its warning.
    if (run_.storage.directory().empty()) selector = choose_together(call, id, request.selector);
    else selector = [](const std::string &) { return true; };
  }
  const bool is_shared = run_.communicator.ranks().local_size > 1;
  std::unique_ptr<storage::CheckpointReader> reader;
  const std::string path = comm::local_chief_decides(run_.communicator, call, [&] {
    const storage::ReadOptions reading = options_of(id, request, std::move(selector));
    reader = is_shared ? restore_for_machine(id, reading) : restore_nearest(id, reading);
    return reader->path().string();
  });
  // Before anybody lets go of it.
  if (is_shared && run_.storage.directory().empty())
    comm::all_agree_local(run_.communicator, call, [&] {
      if (!reader) reader = run_.storage.hold_copy(path);
      return std::string();
    });
  if (!reader) reader = std::make_unique<OpenedElsewhere>(path);
  return std::make_unique<Pinned>(std::move(reader), std::move(reading));
}

}  // namespace det::context
