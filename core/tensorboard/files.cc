#include "core/tensorboard/files.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/environment.h"
#include "core/base/uuid.h"
#include "core/storage/tree.h"

namespace det::tensorboard {

namespace fs = std::filesystem;

namespace {

// Directories and files below one that is open, reached without following a symbolic link: in a
// tree that others may write to, a link must not lead a file elsewhere.
constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Throws Code::invalid unless `path` is relative, names something, and has no "..". `what` begins
// the message.
void check_beneath(const fs::path &path, const std::string &what) {
  const bool escapes =
      path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (escapes || !path.has_filename() || path.filename() == ".")
    throw Error(Code::invalid, what + " '" + path.string() +
                                   "': give the name of a file, relative and without \"..\"");
}

// Opens `path` below `root`, making what is missing: whoever shares the root may write there too.
// `name` is the root's, for errors.
Fd make_directories_beneath(const Fd &root, const fs::path &path, const fs::path &name) {
  Fd directory(openat(root.get(), ".", directory_flags));
  if (!directory) OsFailure{errno}.raise("opening '" + name.string() + "'");
  fs::path reached = name;
  for (const fs::path &part : path) {
    if (part.empty() || part == ".") continue;
    reached /= part;
    directory = storage::make_directory_at(directory.get(), part.string(),
                                           storage::Sharing::storage, reached);
  }
  return directory;
}

// Copies an open file, contents and permissions, to `path` below `root`. Readers see the old file
// or the new.
void copy_beneath(const Fd &source, const Fd &root, const fs::path &path, const fs::path &name) {
  const Fd directory = make_directories_beneath(root, path.parent_path(), name);
  const std::string shown = (name / path).string();
  const std::string aside = "." + make_uuid();
  const Fd copy(
      openat(directory.get(), aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!copy) OsFailure{errno}.raise("making '" + shown + "'");
  try {
    ssize_t sent = 0;
    while ((sent = sendfile(copy.get(), source.get(), nullptr, 1U << 30U)) != 0)
      if (sent < 0 && errno != EINTR) OsFailure{errno}.raise("copying to '" + shown + "'");
    struct stat about {};
    if (fstat(source.get(), &about) != 0 || fchmod(copy.get(), about.st_mode & 0777U) != 0)
      OsFailure{errno}.raise("setting the permissions of '" + shown + "'");
    if (renameat(directory.get(), aside.c_str(), directory.get(), path.filename().c_str()) != 0)
      OsFailure{errno}.raise("renaming to '" + shown + "'");
  } catch (...) {
    unlinkat(directory.get(), aside.c_str(), 0);
    throw;
  }
}

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

std::string text_in(const Json &config, const char *key) {
  const auto it = config.find(key);
  return it != config.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// Empty for what is no bucket. The schemes are those that TensorBoard knows.
std::string bucket_address(const Json &config) {
  if (!config.is_object()) return {};
  const std::string type = text_in(config, "type"), prefix = text_in(config, "prefix");
  std::string address = type == "s3"      ? "s3://" + text_in(config, "bucket")
                        : type == "gcs"   ? "gs://" + text_in(config, "bucket")
                        : type == "azure" ? "abfs://" + text_in(config, "container")
                                          : std::string();
  if (!address.empty() && !prefix.empty()) address += (prefix.front() == '/' ? "" : "/") + prefix;
  while (address.ends_with('/')) address.pop_back();
  return address;
}

std::string base_of(const Json &storage, const std::shared_ptr<Logger> &logger) {
  const std::string bucket = bucket_address(storage);
  if (!bucket.empty()) return bucket;
  const auto made = storage.is_string() ? storage::make_storage_from_uri(storage, logger)
                                        : storage::make_storage(storage, std::nullopt, logger);
  return made->directory().string();
}

// Where "#rank" goes: before the extension of a profiler's file. npos: not such a file.
size_t end_of_stem(std::string_view path) {
  for (const std::string_view extension : {".pt.trace.json", ".pt.trace.json.gz"}) {
    if (!path.ends_with(extension)) continue;
    // worker.1234.pt.trace.json: the last number counts the traces of a worker.
    const size_t end = path.size() - extension.size();
    const size_t digits = path.find_last_not_of("0123456789", end == 0 ? 0 : end - 1);
    const bool numbered = digits != path.npos && digits + 1 < end && path[digits] == '.';
    return numbered ? digits : end;
  }
  static constexpr std::array<std::string_view, 8> extensions{
      ".input_pipeline.pb", ".memory_profile.json.gz", ".tensorflow_stats.pb", ".xplane.pb",
      ".kernel_stats.pb",   ".overview_page.pb",       ".trace.json.gz",       ".trace.json"};
  for (const std::string_view extension : extensions)
    if (path.ends_with(extension)) return path.size() - extension.size();
  return path.npos;
}

}  // namespace

fs::path tensorboard_path(const std::string &cluster_id, int64_t experiment_id) {
  return fs::path(cluster_id) / "tensorboard/experiment" / std::to_string(experiment_id);
}

void remove_tensorboard_files(storage::Storage &storage, const std::string &cluster_id,
                              int64_t experiment_id) {
  const fs::path base = storage.directory();
  if (base.empty())
    return storage.files()->remove(tensorboard_path(cluster_id, experiment_id).string());
  const Fd root(open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root && errno == ENOENT) return;
  if (!root) OsFailure{errno}.raise("opening '" + base.string() + "'");
  const fs::path path = tensorboard_path(cluster_id, experiment_id), shown = base / path;
  const Fd above(storage::open_beneath(root.get(), path.parent_path().string(),
                                       O_PATH | O_DIRECTORY, 0, storage::Links::none));
  if (above) return storage::remove_beneath(above.get(), path.filename().string(), shown);
  if (errno == ENOENT) return;
  if (errno == ELOOP || errno == ENOTDIR || errno == EXDEV)
    throw Error(Code::access, "removing '" + shown.string() + "': its path leads elsewhere");
  OsFailure{errno}.raise("removing '" + shown.string() + "'");
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
  upload_changed(selector, mangler, nullptr);
}

bool TensorboardFiles::wants_sync() const {
  return mode_ == TensorboardMode::automatic && place_.rank == 0 && place_.bucket != nullptr;
}

void TensorboardFiles::sync(storage::Progress *progress) {
  if (wants_sync()) upload_changed(nullptr, nullptr, progress);
}

void TensorboardFiles::upload_changed(const storage::Selector &selector, const Mangler &mangler,
                                      storage::Progress *progress) {
  const std::lock_guard guard(mutex_);
  Fd remote;
  for (const fs::path &file : files_below(local_))
    upload_file(file, remote, selector, mangler, progress);
}

void TensorboardFiles::upload_file(const fs::path &file, Fd &remote,
                                   const storage::Selector &selector, const Mangler &mangler,
                                   storage::Progress *progress) {
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
      place_.bucket->files()->put((remote_path() / target.lexically_normal()).string(), file,
                                  progress);
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

std::vector<std::string> locations(const std::vector<Json> &storages, const std::string &cluster_id,
                                   int64_t experiment_id, const std::shared_ptr<Logger> &logger) {
  std::vector<std::string> found;
  for (const Json &storage : storages) {
    try {
      const std::string base = base_of(storage, logger);
      const std::string place = base + "/" + tensorboard_path(cluster_id, experiment_id).string();
      if (!base.empty() && std::find(found.begin(), found.end(), place) == found.end())
        found.push_back(place);
    } catch (const std::exception &) {
      // It is of another machine, or of a kind that this build does not have.
    }
  }
  return found;
}

std::string rank_aware_name(const std::string &path, int rank) {
  const size_t at = end_of_stem(path);
  if (at == path.npos) return path;
  return path.substr(0, at) + "#" + std::to_string(rank) + path.substr(at);
}

}  // namespace det::tensorboard
