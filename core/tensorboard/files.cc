#include "core/tensorboard/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/base/clock.h"
#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/storage/shared_directory.h"
#include "core/tensorboard/beneath.h"

namespace det::tensorboard {

namespace fs = std::filesystem;

namespace {

void check_id(const char *what, const std::string &id) {
  if (id.find('/') == id.npos && id != "." && id != "..") return;
  throw Error(Code::invalid, std::string("keeping TensorBoard files: the ") + what + " '" + id +
                                 "' cannot be part of a path; give one without '/'");
}

fs::path temporary_directory() {
  const std::string directory = environment_variable("TMPDIR");
  return directory.starts_with('/') ? directory : "/tmp";
}

// Anyone may write to the directory for temporary files, so what lies there under our name need not
// be ours.
Fd open_private_directory(const fs::path &path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    OsFailure{errno}.raise("making directory '" + path.string() + "'");
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about {};
  const bool is_ours =
      directory && fstat(directory.get(), &about) == 0 && about.st_uid == geteuid();
  if (!is_ours && (directory || errno == ELOOP || errno == ENOTDIR || errno == EACCES))
    throw Error(Code::access, "making directory '" + path.string() +
                                  "': something there belongs to another user or is no directory; "
                                  "remove it or set TMPDIR");
  if (!is_ours) OsFailure{errno}.raise("opening directory '" + path.string() + "'");
  return directory;
}

void add_files_below(const fs::path &directory, std::vector<fs::path> *files) {
  for (const std::string &name : entry_names(directory)) {
    const fs::path path = directory / name;
    struct stat about {
    }, target{};
    if (lstat(path.c_str(), &about) != 0) continue;  // removed since it was listed
    if (S_ISDIR(about.st_mode)) add_files_below(path, files);
    else if (stat(path.c_str(), &target) == 0 && S_ISREG(target.st_mode)) files->push_back(path);
  }
}

// Regular files below `root` in order of their paths, links to files among them.
std::vector<fs::path> files_below(const fs::path &root) {
  std::vector<fs::path> files;
  add_files_below(root, &files);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

fs::path tensorboard_path(const std::string &cluster_id, int64_t experiment_id) {
  return fs::path(cluster_id) / "tensorboard/experiment" / std::to_string(experiment_id);
}

void remove_tensorboard_files(storage::Storage &storage, const std::string &cluster_id,
                              int64_t experiment_id) {
  const fs::path base = storage.directory();
  if (base.empty())
    return storage.remove_files(tensorboard_path(cluster_id, experiment_id).string());
  const fs::path path = fs::weakly_canonical(base) / tensorboard_path(cluster_id, experiment_id);
  if (fs::weakly_canonical(path) != path)
    throw Error(Code::access, "'" + path.string() + "' leads elsewhere");
  storage::remove_tree(path);
}

TensorboardFiles::TensorboardFiles(TensorboardMode mode, TensorboardPlace place)
    : mode_(mode),
      place_(std::move(place)),
      local_(temporary_directory() /
             ("tensorboard-" + place_.allocation_id + "-" + std::to_string(place_.rank))) {
  check_id("cluster id", place_.cluster_id);
  check_id("allocation id", place_.allocation_id);
}

fs::path TensorboardFiles::remote_path() const {
  fs::path path = tensorboard_path(place_.cluster_id, place_.experiment_id);
  if (place_.trial_id != 0) path /= "trial/" + std::to_string(place_.trial_id);
  return path;
}

Fd TensorboardFiles::open_remote() const {
  storage::make_shared_directories(place_.storage);
  const Fd storage = open_file(place_.storage, O_RDONLY | O_DIRECTORY);
  return make_directories_beneath(storage, remote_path(), place_.storage);
}

bool TensorboardFiles::is_remote() const {
  return mode_ == TensorboardMode::automatic && place_.rank == 0 && !place_.storage.empty();
}

Fd TensorboardFiles::open() const {
  return is_remote() ? open_remote() : open_private_directory(local_);
}

fs::path TensorboardFiles::path() const {
  open();
  return is_remote() ? place_.storage / remote_path() : local_;
}

void TensorboardFiles::upload(const storage::Selector &selector, const Mangler &mangler) {
  if (mode_ == TensorboardMode::automatic && place_.rank == 0)
    throw Error(Code::state,
                "uploading TensorBoard files: the automatic mode keeps those of the chief already; "
                "choose the manual mode when starting the core");
  upload_changed(selector, mangler);
}

bool TensorboardFiles::wants_sync() const {
  return mode_ == TensorboardMode::automatic && place_.rank == 0 && place_.bucket != nullptr;
}

void TensorboardFiles::sync() {
  if (wants_sync()) upload_changed(nullptr, nullptr);
}

void TensorboardFiles::upload_changed(const storage::Selector &selector, const Mangler &mangler) {
  const std::lock_guard guard(mutex_);
  Fd remote;
  for (const fs::path &file : files_below(local_)) upload_file(file, remote, selector, mangler);
}

void TensorboardFiles::upload_file(const fs::path &file, Fd &remote,
                                   const storage::Selector &selector, const Mangler &mangler) {
  struct stat about {};
  if (stat(file.c_str(), &about) != 0) {
    if (errno == ENOENT) return;  // removed since it was listed
    OsFailure{errno}.raise("looking at '" + file.string() + "'");
  }
  const Version version{about.st_ino, static_cast<uint64_t>(about.st_size),
                        about.st_mtim.tv_sec * 1'000'000'000LL + about.st_mtim.tv_nsec};
  const std::string relative = file.lexically_relative(local_).string();
  const auto before = uploaded_.find(relative);
  if (before != uploaded_.end() && before->second == version) return;
  if (!selector || selector(file.string())) {
    const fs::path target = mangler ? mangler(relative, place_.rank) : relative;
    check_beneath(target, "uploading '" + file.string() + "' as");
    if (place_.bucket) {
      place_.bucket->put_file((remote_path() / target.lexically_normal()).string(), file);
    } else {
      if (!remote) remote = open_remote();
      copy_beneath(open_file(file, O_RDONLY), remote, target, place_.storage / remote_path());
    }
  }
  // File systems stamp times by a clock of some milliseconds: a change within the same tick would
  // not show, so a file that has just been written is not yet taken for unchanged.
  const bool settled = now_us() - version.modified_ns / 1000 > 50'000;
  if (settled) uploaded_[relative] = version;
}

}  // namespace det::tensorboard
