// Downloading and restoring: one rank of each machine reads for all of them.
#include <algorithm>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint.h"

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

}  // namespace

storage::HadManifest CheckpointContext::had_manifest(const std::string &id) {
  return [this, id] { return master_.has_made_checkpoint(id); };
}

bool CheckpointContext::anybody_selects(const comm::Call &call, const std::string &id,
                                        const DownloadRequest &request) {
  const std::vector<std::string> selects = comm::all_agree(communicator_, call, [&] {
    storage::check_storage_id(id);
    return std::string(request.selector ? "selects" : "");
  });
  return std::ranges::any_of(selects, [](const std::string &text) { return !text.empty(); });
}

// What any rank of this machine wants. Empty, for everything, where one of them does not select.
storage::Selector CheckpointContext::choose_together(const comm::Call &call, const std::string &id,
                                                     const storage::Selector &selector) {
  if (communicator_.ranks().local_size == 1) return selector;
  const std::string list = comm::local_chief_decides(communicator_, call, [&] {
    Json names = Json::array();
    for (const auto &[path, size] : storage_.list(id)) names.push_back(path);
    return pack(names);
  });
  const auto paths = unpack(list, "the files of a checkpoint").get<std::vector<std::string>>();
  const std::vector<std::string> votes = comm::all_agree_local(communicator_, call, [&] {
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

void CheckpointContext::download(const std::string &id, const fs::path &directory,
                                 const DownloadRequest &request) {
  gate_.check();
  if (request.mode == DownloadMode::no_shared) {
    storage::check_storage_id(id);
    storage_.download(id, directory, request.selector, request.checksums, had_manifest(id));
    return;
  }
  const comm::Call call{comm::ApiCall::checkpoint_download, id};
  storage::Selector selector;
  if (anybody_selects(call, id, request)) selector = choose_together(call, id, request.selector);
  comm::local_chief_decides(communicator_, call, [&] {
    storage_.download(id, directory, selector, request.checksums, had_manifest(id));
    return std::string();
  });
}

std::unique_ptr<storage::CheckpointReader> CheckpointContext::begin_restore(
    const std::string &id, const DownloadRequest &request) {
  gate_.check();
  if (request.mode == DownloadMode::no_shared) {
    storage::check_storage_id(id);
    return storage_.restore(id, request.selector, request.checksums, had_manifest(id));
  }
  const comm::Call call{comm::ApiCall::checkpoint_restore, id};
  storage::Selector selector;
  if (anybody_selects(call, id, request)) {
    // A file system hands out what is stored: a selector of any rank only earns its warning.
    if (storage_.directory().empty()) selector = choose_together(call, id, request.selector);
    else selector = [](const std::string &) { return true; };
  }
  std::unique_ptr<storage::CheckpointReader> reader;
  const std::string path = comm::local_chief_decides(communicator_, call, [&] {
    reader = storage_.restore(id, selector, request.checksums, had_manifest(id));
    return reader->path().string();
  });
  if (!reader) reader = std::make_unique<OpenedElsewhere>(path);
  return reader;
}

}  // namespace det::context
