#include "core/cloud/store_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/cloud/part_plan.h"
#include "core/cloud/request_pool.h"
#include "core/cloud/running_checksum.h"
#include "core/storage/tree_transfer.h"

namespace det::cloud {

using storage::FileStamp;
using storage::HashedFile;

namespace {

// Read once, hashed, and sent from memory.
constexpr uint64_t small = uint64_t{1} << 20;

struct stat about(const Fd &file, const std::string &described) {
  struct stat found {};
  if (fstat(file.get(), &found) != 0) OsFailure{errno}.raise("looking at " + described);
  return found;
}

class Upload {
 public:
  Upload(ObjectStore &store, const storage::Tree &source, const StoreOptions &options,
         storage::Progress *progress)
      : store_(store), source_(source), options_(options), pool_(options.requests, progress) {}

  storage::HashedFiles run(const std::vector<FileToStore> &files) {
    auto next = files.begin();
    pool_.run([&]() -> RequestPool::Task {
      if (next == files.end()) return nullptr;
      return [this, &file = *next++] { start(file); };
    });
    return std::move(done_);
  }

 private:
  struct File;
  using FilePtr = std::shared_ptr<File>;

  void start(const FileToStore &what);
  std::shared_ptr<ByteRange> read_small(File &file);
  bool stands(const File &file) const;
  void continue_parts(File &file);
  void send_parts(const FilePtr &file);
  void send_part(File &file, int number);
  void finish(File &file);

  ObjectStore &store_;
  const storage::Tree &source_;
  const StoreOptions options_;
  std::mutex mutex_;
  storage::HashedFiles done_;
  RequestPool pool_;  // last: its threads use what stands above
};

struct Upload::File {
  File(const FileToStore &from, std::string name, Fd open, const ObjectStore &store)
      : what(from),
        described(std::move(name)),
        fd(std::make_shared<const Fd>(std::move(open))),
        before(FileStamp::of(about(*fd, described))),
        plan(before.size, store.limits()),
        checksum(fd, before.size, described, store.sends_crc32c() ? plan.part : 0) {}

  std::shared_ptr<ByteRange> range(uint64_t begin, uint64_t size) const {
    return std::make_shared<FileRange>(described, fd, begin, size);
  }

  // Read once for its checksum and the store's, where the former is not known.
  std::shared_ptr<ByteRange> summed_range(uint64_t begin, uint64_t size) {
    std::shared_ptr<ByteRange> bytes = range(begin, size);
    if (known) return bytes;
    checksum.advance(begin + size);
    bytes->crc32c = checksum.crc32c_of(begin);
    return bytes;
  }

  const FileToStore &what;
  const std::string described;
  const std::shared_ptr<const Fd> fd;
  const FileStamp before;
  const PartPlan plan;
  RunningChecksum checksum;
  std::optional<uint64_t> known;  // the checksum, without reading
  std::string upload;
  std::mutex mutex;
  std::vector<StoredPart> parts;
  std::atomic<int> parts_left{0};
};

void Upload::start(const FileToStore &what) {
  const std::string name = source_.name_of(what.path);
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;  // a pipe must not make us wait
  Fd open(options_.confined ? storage::open_beneath(source_.fd.get(), what.path, flags)
                            : openat(source_.fd.get(), what.path.c_str(), flags));
  if (!open) OsFailure{errno}.raise("opening " + name);
  if (!S_ISREG(about(open, name).st_mode))
    throw Error(Code::invalid,
                "reading " + name + ": not a regular file; take it out of the directory");
  const auto file = std::make_shared<File>(what, name, std::move(open), store_);
  if (options_.known != nullptr)
    if (const auto found = options_.known->find(what.path);
        found != options_.known->end() && found->second.stamp == file->before)
      file->known = found->second.checksum;
  if (stands(*file)) {
    *pool_.moved() += file->before.size;
    return finish(*file);
  }
  if (file->plan.count > 1) return send_parts(file);
  if (file->before.size <= small) {
    store_.put(what.key, read_small(*file));
  } else {
    store_.put(what.key, file->summed_range(0, file->before.size));
  }
  *pool_.moved() += file->before.size;
  finish(*file);
}

std::shared_ptr<ByteRange> Upload::read_small(File &file) {
  std::string bytes(file.before.size, '\0');
  FileRange range(file.described, file.fd, 0, file.before.size);
  for (uint64_t at = 0; at < bytes.size();)
    at += range.read(at, bytes.data() + at, bytes.size() - at);
  if (!file.known) file.known = checksum64(bytes.data(), bytes.size());
  return std::make_shared<TextRange>(file.described, std::move(bytes));
}

// Whether its object has its bytes already.
bool Upload::stands(const File &file) const {
  if (options_.standing == nullptr) return false;
  const auto found = options_.standing->find(file.what.key);
  if (found == options_.standing->end() || found->second.size != file.before.size) return false;
  const std::optional<ObjectInfo> info = store_.find(file.what.key);
  return info && info->size == file.before.size && !info->checksum.empty() &&
         info->checksum == store_.checksum_of(*file.range(0, file.before.size));
}

// Takes up the last attempt at this file, by the parts of it that have the file's bytes.
void Upload::continue_parts(File &file) {
  std::optional<PendingUpload> last;
  for (const PendingUpload &pending : store_.list_uploads(file.what.key))
    if (pending.key == file.what.key && (!last || pending.begun_ms > last->begun_ms))
      last = pending;
  if (!last) return;
  file.upload = last->upload;
  for (StoredPart &part : store_.list_parts(file.what.key, file.upload))
    if (part.number >= 1 && part.number <= file.plan.count && !part.checksum.empty() &&
        part.size == file.plan.size_of(part.number) &&
        part.checksum ==
            store_.checksum_of(*file.range(file.plan.begin_of(part.number), part.size)))
      file.parts[static_cast<size_t>(part.number - 1)] = std::move(part);
}

void Upload::send_parts(const FilePtr &file) {
  file->parts.resize(static_cast<size_t>(file->plan.count));
  if (options_.standing != nullptr) continue_parts(*file);
  if (file->upload.empty()) file->upload = store_.begin_parts(file->what.key);
  if (options_.open != nullptr) options_.open->add(file->what.key, file->upload);
  std::vector<int> missing;
  for (int number = 1; number <= file->plan.count; ++number)
    if (file->parts[static_cast<size_t>(number - 1)].number == 0) missing.push_back(number);
    else *pool_.moved() += file->plan.size_of(number);
  file->parts_left = static_cast<int>(missing.size());
  if (missing.empty()) return finish(*file);
  for (const int number : missing)
    pool_.submit([this, file, number] {
      send_part(*file, number);
      if (--file->parts_left == 0) finish(*file);
    });
}

void Upload::send_part(File &file, int number) {
  const uint64_t begin = file.plan.begin_of(number), size = file.plan.size_of(number);
  StoredPart part =
      store_.put_part(file.what.key, file.upload, number, file.summed_range(begin, size));
  *pool_.moved() += size;
  const std::lock_guard lock(file.mutex);
  file.parts[static_cast<size_t>(number - 1)] = std::move(part);
}

void Upload::finish(File &file) {
  const uint64_t checksum = file.known ? *file.known : file.checksum.value();
  if (FileStamp::of(about(*file.fd, file.described)) != file.before)
    throw Error(Code::conflict,
                "reading " + file.described +
                    ": the file changed meanwhile; store it once nobody writes to it");
  if (!file.upload.empty()) {
    store_.complete_parts(file.what.key, file.upload, file.parts);
    if (options_.open != nullptr) options_.open->remove(file.what.key);
  }
  pool_.count_file();
  const std::lock_guard lock(mutex_);
  done_[file.what.path] = {file.what.path, file.before, checksum};
}

}  // namespace

storage::HashedFiles store_files(ObjectStore &store, const storage::Tree &source,
                                 const std::vector<FileToStore> &files, const StoreOptions &options,
                                 storage::Progress *progress) {
  if (files.empty()) return {};
  uint64_t bytes = 0;
  for (const FileToStore &file : files) bytes += file.size;
  if (progress != nullptr) progress->expect(bytes, files.size());
  return Upload(store, source, options, progress).run(files);
}

}  // namespace det::cloud
