#include "core/storage/file_transfer.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "core/storage/block_checksum.h"
#include "core/storage/manifest.h"
#include "core/storage/pool.h"
#include "core/storage/progress.h"
#include "core/storage/spare_files.h"
#include "core/storage/storage.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

// Files handed to a thread at once: a small one is done in less time than a hand-over takes.
constexpr size_t batch_size = 16;

// Some file systems keep no modes or times; that is no reason to lose a checkpoint.
bool is_refusal(int os_errno) {
  return os_errno == EPERM || os_errno == EOPNOTSUPP || os_errno == ENOSYS;
}

}  // namespace

void throw_changed(const std::string &described) {
  throw Error(
      Code::conflict,
      "reading " + described + ": the file changed meanwhile; store it once nobody writes to it");
}

Fd open_to_read(const Tree &tree, const std::string &path, bool confined) {
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;  // a pipe must not make us wait
  Fd file(confined ? open_beneath(tree.fd.get(), path, flags)
                   : openat(tree.fd.get(), path.c_str(), flags));
  if (!file && confined && (errno == EXDEV || errno == ELOOP))
    throw Error(Code::corrupt, "opening " + tree.name_of(path) +
                                   ": it leads out of the checkpoint; restore another checkpoint");
  if (!file) OsFailure{errno}.raise("opening " + tree.name_of(path));
  return file;
}

void write_all_at(int fd, std::string_view bytes, uint64_t offset, const std::string &described) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) OsFailure{errno}.raise("writing " + described);
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
}

void write_sparsely_at(int fd, std::string_view bytes, uint64_t offset,
                       const std::string &described) {
  constexpr uint64_t block = 4096;
  const auto is_zero = [](std::string_view some) {
    return some[0] == 0 && std::memcmp(some.data(), some.data() + 1, some.size() - 1) == 0;
  };
  size_t begin = 0;  // of what is to be written
  for (size_t at = 0; at < bytes.size();) {
    const size_t size = std::min<uint64_t>(bytes.size() - at, block - (offset + at) % block);
    if (is_zero(bytes.substr(at, size))) {
      if (at > begin) write_all_at(fd, bytes.substr(begin, at - begin), offset + begin, described);
      begin = at + size;
    }
    at += size;
  }
  if (begin < bytes.size()) write_all_at(fd, bytes.substr(begin), offset + begin, described);
}

void resize(int fd, uint64_t size, const std::string &described) {
  if (ftruncate(fd, static_cast<off_t>(size)) != 0) OsFailure{errno}.raise("making " + described);
}

FileStamp FileStamp::of(const struct stat &about) {
  return {static_cast<uint64_t>(about.st_size),
          int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec, about.st_ino};
}

struct stat set_attributes(int fd, const struct stat &like, const std::string &described) {
  const timespec times[2] = {like.st_atim, like.st_mtim};
  if (futimens(fd, times) != 0 && !is_refusal(errno)) OsFailure{errno}.raise("dating " + described);
  set_mode(fd, like.st_mode, described);
  struct stat now {};
  if (fstat(fd, &now) != 0) OsFailure{errno}.raise("looking at " + described);
  return now;
}

void set_mode(int fd, unsigned mode, const std::string &described) {
  struct stat now {};
  if (fstat(fd, &now) != 0) OsFailure{errno}.raise("looking at " + described);
  mode = (mode & 0777) | (now.st_mode & 07000);
  if ((now.st_mode & 07777) != mode && fchmod(fd, mode) != 0 && !is_refusal(errno))
    OsFailure{errno}.raise("setting the mode of " + described);
}

namespace {

// The files of one transfer: each opened, moved block by block, and finished.
class FileTransfer {
 public:
  // Without a target, files are only hashed.
  FileTransfer(const Tree &source, const Tree *target, const TransferOptions &options)
      : source_(source), target_(target), options_(options) {}

  // Once.
  std::vector<HashedFile> run(const std::vector<std::string> &paths);

 private:
  struct File;

  void expect(const std::vector<std::string> &paths);
  void start(const std::string &path, Buffer &buffer);

  void move_block(File &file, size_t block, Buffer &buffer);
  bool copy_in_kernel(File &file, uint64_t begin, uint64_t end);
  bool write_over(File &file, uint64_t begin, uint64_t end) const;
  void finish(File &file);

  const Tree &source_;
  const Tree *const target_;
  const TransferOptions options_;
  Progress *const progress_ = options_.progress;
  std::atomic<bool> clones_{true};  // until the file system says that it does not
  std::mutex mutex_;
  std::vector<HashedFile> done_;
  Pool pool_;  // last: its threads use what stands above
};

struct FileTransfer::File {
  File(const Tree &target_tree, std::string file_path)
      : tree(target_tree), path(std::move(file_path)) {}
  ~File() {
    if (!target || finished) return;
    remove_file_beneath(tree, path);
  }

  const Tree &tree;
  std::string path;
  Fd source;
  Fd target;
  std::shared_ptr<SpareFile> spare;  // that the target is
  struct stat before {};
  bool cloned = false;
  bool sparse = false;
  bool finished = false;
  std::vector<uint64_t> sums;
  std::atomic<size_t> blocks_left{0};

  uint64_t size() const { return static_cast<uint64_t>(before.st_size); }
};

std::vector<HashedFile> FileTransfer::run(const std::vector<std::string> &paths) {
  Buffer buffer;
  if (progress_ != nullptr) expect(paths);
  for (size_t begin = 0; begin < paths.size(); begin += batch_size)
    pool_.submit(
        [this, &paths, begin](Buffer &own) {
          for (size_t i = begin; i < std::min(begin + batch_size, paths.size()); ++i)
            start(paths[i], own);
        },
        buffer);
  wait_for(pool_, buffer, progress_);
  return std::move(done_);
}

void FileTransfer::expect(const std::vector<std::string> &paths) {
  uint64_t bytes = 0;
  struct stat about {};
  // What is not there is told when it is opened.
  for (const std::string &path : paths)
    if (fstatat(source_.fd.get(), path.c_str(), &about, 0) == 0)
      bytes += static_cast<uint64_t>(about.st_size);
  progress_->expect(bytes, paths.size());
}

void FileTransfer::start(const std::string &path, Buffer &buffer) {
  auto file = std::make_shared<File>(target_ != nullptr ? *target_ : source_, path);
  file->source = open_to_read(source_, path, options_.confined);
  if (fstat(file->source.get(), &file->before) != 0)
    OsFailure{errno}.raise("looking at " + source_.name_of(path));
  if (!S_ISREG(file->before.st_mode))
    throw Error(Code::invalid, "reading " + source_.name_of(path) +
                                   ": not a regular file; take it out of the directory");
  file->sparse = is_sparse(file->before);
  if (target_ != nullptr && options_.spares != nullptr && !options_.checksums && !file->sparse)
    file->spare = options_.spares->take(file->size(), *target_, path);
  if (file->spare) file->target = Fd(fcntl(file->spare->fd(), F_DUPFD_CLOEXEC, 0));
  if (target_ != nullptr && !file->target)
    file->target = make_file_beneath(*target_, path, file->before.st_mode & 0777);
  file->sums.resize(checksum_blocks(file->size()));
  if (file->target && !file->spare && file->size() > Buffer::size && clones_) {
    file->cloned = ioctl(file->target.get(), FICLONE, file->source.get()) == 0;
    if (!file->cloned) clones_ = false;
  }
  if (file->target && file->sparse && !file->cloned)
    resize(file->target.get(), file->size(), target_->name_of(path));
  file->blocks_left = file->sums.size();
  if (file->sums.size() == 1) {
    move_block(*file, 0, buffer);
    return finish(*file);
  }
  for (size_t block = 0; block < file->sums.size(); ++block)
    pool_.submit(
        [this, file, block](Buffer &own) {
          move_block(*file, block, own);
          if (--file->blocks_left == 0) finish(*file);
        },
        buffer);
}

void FileTransfer::move_block(File &file, size_t block, Buffer &buffer) {
  const uint64_t begin = block * checksum_block;
  const uint64_t end = std::min(begin + checksum_block, file.size());
  if (!options_.checksums && file.target &&
      (file.cloned || write_over(file, begin, end) || copy_in_kernel(file, begin, end))) {
    if (progress_ != nullptr) progress_->add_bytes(end - begin);
    return;
  }
  // A clone is a snapshot, which nobody changes under our hands.
  const int from = file.cloned ? file.target.get() : file.source.get();
  Checksum sum;
  for (uint64_t at = begin; at < end;) {
    const size_t wanted = std::min<uint64_t>(Buffer::size, end - at);
    const ssize_t got = pread(from, buffer.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + source_.name_of(file.path));
    if (got == 0) throw_changed(source_.name_of(file.path));
    const auto size = static_cast<size_t>(got);
    if (options_.checksums) sum.add(buffer.data(), size);
    if (file.target && !file.cloned)
      (file.sparse ? write_sparsely_at : write_all_at)(file.target.get(), {buffer.data(), size}, at,
                                                       target_->name_of(file.path));
    at += size;
    if (progress_ != nullptr) progress_->add_bytes(size);
  }
  if (options_.checksums) file.sums[block] = sum.value();
  if (options_.start_writing && file.target && file.sums.size() > 1)
    sync_file_range(file.target.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                    SYNC_FILE_RANGE_WRITE);
}

// Into pages that are there already. False where they are not, or not any more.
bool FileTransfer::write_over(File &file, uint64_t begin, uint64_t end) const {
  char *const pages = file.spare ? file.spare->range(begin, end) : nullptr;
  if (pages == nullptr) return false;
  for (uint64_t done = 0; done < end - begin;) {
    const ssize_t got = pread(file.source.get(), pages + done, end - begin - done,
                              static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EFAULT) return false;
    if (got < 0) OsFailure{errno}.raise("reading " + source_.name_of(file.path));
    if (got == 0) throw_changed(source_.name_of(file.path));
    done += static_cast<uint64_t>(got);
  }
  return true;
}

// False where the kernel does not copy between these files; then nothing is lost by reading.
bool FileTransfer::copy_in_kernel(File &file, uint64_t begin, uint64_t end) {
  auto from = static_cast<off64_t>(begin);
  auto to = from;
  while (static_cast<uint64_t>(from) < end) {
    uint64_t stop = end;
    if (file.sparse) {
      const off_t data = lseek(file.source.get(), from, SEEK_DATA);
      if (data < 0 ? errno == ENXIO : static_cast<uint64_t>(data) >= end) return true;
      const off_t hole = lseek(file.source.get(), data, SEEK_HOLE);
      if (data < 0 || hole < 0) return false;
      from = to = data;
      stop = std::min(end, static_cast<uint64_t>(hole));
    }
    const ssize_t moved = copy_file_range(file.source.get(), &from, file.target.get(), &to,
                                          stop - static_cast<uint64_t>(from), 0);
    if (moved > 0 || (moved < 0 && errno == EINTR)) continue;
    if (moved < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO))
      OsFailure{errno}.raise("copying to " + target_->name_of(file.path));
    return false;
  }
  return true;
}

void FileTransfer::finish(File &file) {
  struct stat after {};
  if (fstat(file.source.get(), &after) != 0)
    OsFailure{errno}.raise("looking at " + source_.name_of(file.path));
  if (FileStamp::of(after) != FileStamp::of(file.before)) throw_changed(source_.name_of(file.path));
  if (file.target) {
    after = set_attributes(file.target.get(), file.before, target_->name_of(file.path));
    file.finished = true;
  }
  if (progress_ != nullptr) progress_->add_file();
  const std::lock_guard lock(mutex_);
  done_.push_back(
      {file.path, FileStamp::of(after), options_.checksums ? combined_checksum(file.sums) : 0});
}

}  // namespace

namespace {

// Last, since filling a directory changes its time and may need a mode it will not have.
void copy_attributes(const Tree &source, const Tree &target, const std::string &path,
                     bool confined) {
  const Fd from(confined ? open_beneath(source.fd.get(), path, O_PATH)
                         : openat(source.fd.get(), path.c_str(), O_PATH | O_CLOEXEC));
  struct stat about {};
  if (!from || fstat(from.get(), &about) != 0)
    OsFailure{errno}.raise("looking at " + source.name_of(path));
  const Fd directory(open_beneath(target.fd.get(), path, O_RDONLY | O_DIRECTORY));
  if (!directory) OsFailure{errno}.raise("opening " + target.name_of(path));
  set_attributes(directory.get(), about, target.name_of(path));
}

}  // namespace

void add_directories_of(const std::string &path, std::set<std::string> &directories) {
  for (size_t slash = path.rfind('/'); slash != path.npos && slash > 0;
       slash = path.rfind('/', slash - 1))
    if (!directories.insert(path.substr(0, slash)).second) break;
}

void check_copyable(const Tree &source, const std::vector<TreeEntry> &entries) {
  for (const TreeEntry &entry : entries)
    if (!entry.is_directory() && !S_ISREG(entry.about.st_mode))
      throw Error(Code::invalid, "storing " + source.name_of(entry.path) +
                                     ": neither a file nor a directory (a pipe, socket or device); "
                                     "take it out of the directory");
}

namespace {

[[noreturn]] void refuse_manifest(const Tree &tree) {
  throw Error(Code::invalid, "storing " + tree.name_of(manifest_name) +
                                 ": this name is reserved; give your file another name");
}

bool has(const Tree &tree, const char *name) {
  struct stat about {};
  return fstatat(tree.fd.get(), name, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<TreeEntry> only(std::vector<TreeEntry> entries, const std::vector<std::string> &paths,
                            const Tree &source) {
  std::unordered_set<std::string> wanted(paths.begin(), paths.end());
  std::erase_if(entries, [&](const TreeEntry &entry) { return wanted.erase(entry.path) == 0; });
  if (!wanted.empty())
    throw Error(Code::not_found, "storing " + source.name_of(*wanted.begin()) +
                                     ": it is not in the directory; list the directory again");
  return entries;
}

}  // namespace

void check_source(const Tree &source) {
  if (has(source, chunks_directory))
    throw Error(Code::invalid,
                "storing '" + source.name.string() +
                    "': it is a deduplicated checkpoint as its storage keeps it, "
                    "without the large files; download the checkpoint, and store that");
  try {
    read_manifest(source);
  } catch (const Error &) {
    refuse_manifest(source);
  }
}

std::vector<TreeEntry> scan_source(const Tree &source,
                                   const std::optional<std::vector<std::string>> &paths, bool sizes,
                                   const Tree *never) {
  check_source(source);
  std::vector<TreeEntry> entries =
      scan_tree(source, {.enter_links = !paths, .sizes = sizes, .never = never});
  return paths ? only(std::move(entries), *paths, source) : entries;
}

std::vector<TreeEntry> scan_written(const Tree &tree, bool enter_links) {
  const ScanOptions into_links{.enter_links = true, .outside = Code::invalid};
  std::vector<TreeEntry> entries = scan_tree(tree, {.outside = Code::invalid});
  const bool has_links = std::any_of(entries.begin(), entries.end(), [](const TreeEntry &entry) {
    return entry.link && entry.is_directory();
  });
  if (has_links) {
    std::vector<TreeEntry> all = scan_tree(tree, into_links);
    if (enter_links) entries = std::move(all);
  }
  check_copyable(tree, entries);
  if (has(tree, manifest_name)) refuse_manifest(tree);
  return entries;
}

bool is_sparse(const struct stat &about) {
  constexpr off_t block = 4096;  // what is smaller may have none on some file systems
  return about.st_size - about.st_blocks * 512 >= block;
}

FileAttributes FileAttributes::of(const struct stat &about) {
  return {about.st_mode & 0777, FileStamp::of(about).mtime_ns, storage::is_sparse(about)};
}

struct stat FileAttributes::as_stat() const {
  constexpr int64_t second = 1'000'000'000;
  const int64_t rest = (mtime_ns % second + second) % second;  // of times before 1970, too
  struct stat about {};
  about.st_mode = mode;
  about.st_mtim = {(mtime_ns - rest) / second, rest};
  about.st_atim = about.st_mtim;
  return about;
}

std::vector<HashedFile> copy_tree(const Tree &source, const std::vector<TreeEntry> &entries,
                                  const Tree &target, const TransferOptions &options,
                                  const std::function<void()> &besides) {
  check_copyable(source, entries);
  std::vector<std::string> files;
  std::set<std::string> directories;
  for (const TreeEntry &entry : entries) {
    if (!entry.is_directory()) files.push_back(entry.path);
    add_directories_of(entry.path, directories);
  }
  for (const std::string &path : directories) make_directory_beneath(target, path, 0700);
  std::vector<HashedFile> done = FileTransfer(source, &target, options).run(files);
  if (besides) besides();
  for (auto path = directories.rbegin(); path != directories.rend(); ++path)
    copy_attributes(source, target, *path, options.confined);
  return done;
}

std::vector<HashedFile> hash_files(const Tree &root, const std::vector<std::string> &paths,
                                   Progress *progress, bool confined) {
  return FileTransfer(root, nullptr, {.confined = confined, .progress = progress}).run(paths);
}

std::map<std::string, uint64_t> checksums_of(const fs::path &root,
                                             const std::vector<std::string> &paths,
                                             Progress *progress) {
  std::map<std::string, uint64_t> checksums;
  for (const HashedFile &file : hash_files(Tree(root), paths, progress, false))
    checksums[file.path] = file.checksum;
  return checksums;
}

namespace {

// From here on, one sync of the whole file system beats one of each file (docs/checkpoints.md).
constexpr size_t many_entries = 24;

bool kernel_is_at_least(int major, int minor) {
  utsname system{};
  int has_major = 0, has_minor = 0;
  if (uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &has_major, &has_minor) != 2)
    return false;
  return std::pair(has_major, has_minor) >= std::pair(major, minor);
}

// Local file systems whose syncfs(2) is known to wait for everything and to report failures;
// elsewhere, in particular over a network or FUSE, each file is synced by itself.
bool has_trusted_syncfs(const Tree &root) {
  static const bool reports_failures = kernel_is_at_least(5, 8);
  if (!reports_failures) return false;
  struct statfs about {};
  if (fstatfs(root.fd.get(), &about) != 0) return false;
  switch (static_cast<uint32_t>(about.f_type)) {
    case 0xEF53:      // ext4
    case 0x58465342:  // XFS
    case 0x9123683E:  // Btrfs
    case 0xF2F52010:  // F2FS
      return true;
    default:
      return false;
  }
}

void sync_entry(const Tree &root, const std::string &path, int flags) {
  const Fd file(open_beneath(root.fd.get(), path, flags));
  if (!file) OsFailure{errno}.raise("opening " + root.name_of(path) + " to sync it");
  // Some file systems cannot sync a directory and say so.
  if (fsync(file.get()) != 0 && !(errno == EINVAL && (flags & O_DIRECTORY) != 0))
    OsFailure{errno}.raise("syncing " + root.name_of(path));
}

// All at once where that is better; then nothing is left to sync.
bool sync_at_once(const Tree &root, const std::vector<TreeEntry> &entries) {
  if (entries.size() < many_entries || !has_trusted_syncfs(root)) return false;
  if (syncfs(root.fd.get()) == 0) return true;
  OsFailure{errno}.raise("syncing the file system of '" + root.name.string() + "'");
}

void sync_one_by_one(const Tree &root, const std::vector<TreeEntry> &entries) {
  Pool pool;
  Buffer unused;
  for (const TreeEntry &entry : entries) {
    if (entry.link) continue;  // what it names is an entry too, and the link lies in its directory
    pool.submit(
        [&root, &entry](Buffer &) {
          if (entry.is_directory())
            sync_entry(root, entry.path.substr(0, entry.path.size() - 1), O_RDONLY | O_DIRECTORY);
          else sync_entry(root, entry.path, O_RDONLY | O_NONBLOCK);
        },
        unused);
  }
  pool.wait(unused);
}

}  // namespace

void sync_entries(const Tree &root, const std::vector<TreeEntry> &entries) {
  if (!sync_at_once(root, entries)) sync_one_by_one(root, entries);
}

void sync_tree(const Tree &root, std::vector<TreeEntry> entries) {
  if (sync_at_once(root, entries)) return;
  entries.push_back({manifest_name, {}});  // with the others: the file system then writes once
  sync_one_by_one(root, entries);
  if (fsync(root.fd.get()) != 0 && errno != EINVAL)
    OsFailure{errno}.raise("syncing '" + root.name.string() + "'");
}

}  // namespace det::storage
