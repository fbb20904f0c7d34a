#include "core/launcher/context_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>

#include "core/base/base64.h"
#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/run_command.h"
#include "core/codec/container.h"
#include "core/master/rest/connect.h"

namespace det::launcher {

namespace fs = std::filesystem;

namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string &bytes)
      : path_((fs::temp_directory_path() / "det-context-XXXXXX").string()) {
    const Fd file(mkostemp(path_.data(), O_CLOEXEC));
    if (file.get() < 0) OsFailure{errno}.raise("making '" + path_ + "'");
    write_all(file.get(), bytes, path_);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

// Neither a member with ".." nor an absolute one leaves the directory: tar sees to that.
void unpack(const std::string &archive, const fs::path &directory) {
  const CommandResult result = run_command(
      "tar -xzf \"$DET_ARCHIVE\" -C \"$DET_DIRECTORY\" 2>&1",
      {"DET_ARCHIVE=" + archive, "DET_DIRECTORY=" + directory.string()}, std::chrono::minutes(10));
  if (result.status != 0)
    throw Error(Code::io, "unpacking the model's directory into '" + directory.string() +
                              "': tar left with " + std::to_string(result.status) + ": " +
                              result.output);
}

std::string archive_of(master::MasterSession &session, const config::ClusterInfo &cluster) {
  if (codec::has_call<codec::GetContextDirectory>(session.version()))
    return session.call(codec::GetContextDirectory{cluster.task_id}).base64;
  return session.call(codec::GetModelDefinition{cluster.trial->experiment_id}).base64;
}

}  // namespace

void fetch_context_directory(const config::ClusterInfo &cluster,
                             const std::shared_ptr<Logger> &logger) {
  const auto session = master::connect_to_task_master(cluster, logger);
  const std::string text = archive_of(*session, cluster);
  if (text.empty()) return;
  const std::optional<std::string> bytes = from_base64(text);
  if (!bytes)
    throw Error(Code::corrupt, "fetching the model's directory from " + session->url() +
                                   ": the answer is no base64");
  const TemporaryFile archive(*bytes);
  const std::string run_directory = environment_variable("DET_RUN_DIR");
  const fs::path kept =
      fs::path(run_directory.empty() ? "/run/determined" : run_directory) / "train" / "model";
  fs::create_directories(kept);
  unpack(archive.path(), kept);
  unpack(archive.path(), fs::current_path());
}

}  // namespace det::launcher
