#include "core/cloud/checkpoints/object_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/cloud/request_pool.h"
#include "core/storage/block_checksum.h"
#include "core/storage/manifest.h"
#include "core/storage/pool.h"

namespace det::cloud {

using storage::checksum_block;
using storage::FileStamp;
using storage::HashedFile;

RunningChecksum::RunningChecksum(std::shared_ptr<const Fd> file, uint64_t size,
                                 std::string described, uint64_t part)
    : file_(std::move(file)), size_(size), described_(std::move(described)), part_(part) {}

void RunningChecksum::advance(uint64_t end) {
  const std::lock_guard lock(mutex_);
  storage::Buffer buffer;
  while (at_ < end) {
    const uint64_t in_block = checksum_block - at_ % checksum_block;
    const uint64_t in_part = part_ == 0 ? in_block : part_ - at_ % part_;
    const size_t wanted = std::min({uint64_t{storage::Buffer::size}, end - at_, in_block, in_part});
    const ssize_t got = pread(file_->get(), buffer.data(), wanted, static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + described_);
    if (got == 0)
      throw Error(Code::conflict,
                  "reading " + described_ +
                      ": the file changed meanwhile; store it once nobody writes to it");
    const auto count = static_cast<size_t>(got);
    block_.add(buffer.data(), count);
    if (part_ != 0) crc32c_ = det::crc32c({buffer.data(), count}, crc32c_);
    at_ += count;
    if (part_ != 0 && (at_ % part_ == 0 || at_ == size_))
      parts_.push_back(std::exchange(crc32c_, 0));
    if (at_ % checksum_block == 0 || at_ == size_) {
      blocks_.push_back(block_.value());
      block_ = Checksum();
    }
  }
}

std::optional<uint32_t> RunningChecksum::crc32c_of(uint64_t begin) {
  const std::lock_guard lock(mutex_);
  if (part_ == 0 || begin / part_ >= parts_.size()) return std::nullopt;
  return parts_[begin / part_];
}

uint64_t RunningChecksum::value() {
  advance(size_);
  if (blocks_.empty()) blocks_.push_back(block_.value());  // of an empty file
  return storage::combined_checksum(blocks_);
}

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
  Upload(ObjectStore &store, const storage::Tree &source, const UploadOptions &options,
         storage::Progress *progress)
      : source_(source), options_(options), pool_(store, options.requests, progress) {}

  storage::HashedFiles run(const std::vector<FileToUpload> &files) {
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

  void start(const FileToUpload &what);
  std::shared_ptr<ByteRange> read_small(File &file);
  bool stands(const File &file) const;
  void continue_parts(File &file);
  void send_parts(const FilePtr &file);
  void send_part(File &file, int number);
  void finish(File &file);

  const storage::Tree &source_;
  const UploadOptions options_;
  std::mutex mutex_;
  storage::HashedFiles done_;
  RequestPool pool_;  // last: its threads use what stands above
};

struct Upload::File {
  File(const FileToUpload &from, std::string name, Fd open, const ObjectStore &store)
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

  const FileToUpload &what;
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

void Upload::start(const FileToUpload &what) {
  const std::string name = source_.name_of(what.path);
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;  // a pipe must not make us wait
  Fd open(options_.confined ? storage::open_beneath(source_.fd.get(), what.path, flags)
                            : openat(source_.fd.get(), what.path.c_str(), flags));
  if (!open) OsFailure{errno}.raise("opening " + name);
  if (!S_ISREG(about(open, name).st_mode))
    throw Error(Code::invalid,
                "reading " + name + ": not a regular file; take it out of the directory");
  const auto file = std::make_shared<File>(what, name, std::move(open), pool_.store());
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
    pool_.store().put(what.key, read_small(*file));
  } else {
    pool_.store().put(what.key, file->summed_range(0, file->before.size));
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
  const std::optional<ObjectInfo> info = pool_.store().find(file.what.key);
  return info && info->size == file.before.size && !info->checksum.empty() &&
         info->checksum == pool_.store().checksum_of(*file.range(0, file.before.size));
}

// Takes up the last attempt at this file, by the parts of it that have the file's bytes.
void Upload::continue_parts(File &file) {
  std::optional<PendingUpload> last;
  for (const PendingUpload &pending : pool_.store().list_uploads(file.what.key))
    if (pending.key == file.what.key && (!last || pending.begun_ms > last->begun_ms))
      last = pending;
  if (!last) return;
  file.upload = last->upload;
  for (StoredPart &part : pool_.store().list_parts(file.what.key, file.upload))
    if (part.number >= 1 && part.number <= file.plan.count && !part.checksum.empty() &&
        part.size == file.plan.size_of(part.number) &&
        part.checksum ==
            pool_.store().checksum_of(*file.range(file.plan.begin_of(part.number), part.size)))
      file.parts[static_cast<size_t>(part.number - 1)] = std::move(part);
}

void Upload::send_parts(const FilePtr &file) {
  file->parts.resize(static_cast<size_t>(file->plan.count));
  if (options_.standing != nullptr) continue_parts(*file);
  if (file->upload.empty()) file->upload = pool_.store().begin_parts(file->what.key);
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
      pool_.store().put_part(file.what.key, file.upload, number, file.summed_range(begin, size));
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
    pool_.store().complete_parts(file.what.key, file.upload, file.parts);
    if (options_.open != nullptr) options_.open->remove(file.what.key);
  }
  pool_.count_file();
  const std::lock_guard lock(mutex_);
  done_[file.what.path] = {file.what.path, file.before, checksum};
}

}  // namespace

storage::HashedFiles upload_files(ObjectStore &store, const storage::Tree &source,
                                  const std::vector<FileToUpload> &files,
                                  const UploadOptions &options, storage::Progress *progress) {
  if (files.empty()) return {};
  uint64_t bytes = 0;
  for (const FileToUpload &file : files) bytes += file.size;
  if (progress != nullptr) progress->expect(bytes, files.size());
  return Upload(store, source, options, progress).run(files);
}

namespace {

// Bytes of one request. Several share a block of a checksum, or one is a block, whose checksum then
// costs no reading.
constexpr uint64_t short_range = uint64_t{16} << 20;
constexpr uint64_t many_blocks = 16;  // so many are enough to keep all requests busy

class Fetch {
 public:
  Fetch(ObjectStore &store, const storage::Tree &target, size_t requests,
        storage::Progress *progress)
      : target_(target), pool_(store, requests, progress) {}

  void run(const std::vector<FileToFetch> &files) {
    auto next = files.begin();
    pool_.run([&]() -> RequestPool::Task {
      if (next == files.end()) return nullptr;
      return [this, &file = *next++] { start(file); };
    });
  }

 private:
  struct File;
  struct Range;
  using FilePtr = std::shared_ptr<File>;

  void start(const FileToFetch &what);
  void check_size(const FileToFetch &what);
  void submit(const FilePtr &file, const Range &range);
  void fetch(File &file, const Range &range);
  static void read_on(File &file, const Range &range);
  void finish(File &file);

  const storage::Tree &target_;
  RequestPool pool_;  // last: its threads use what stands above
};

// What one request brings.
struct Fetch::Range {
  const std::string &key;
  uint64_t from;   // in the object
  uint64_t begin;  // in the file
  uint64_t size;   // of it
  bool is_end;     // of the object
};

struct Fetch::File {
  File(const storage::Tree &tree, const FileToFetch &from)
      : target(tree),
        what(from),
        fd(std::make_shared<const Fd>(
            storage::make_file_beneath(tree, from.path, default_file_mode))),
        range(from.size > many_blocks * checksum_block ? checksum_block : short_range),
        sums_on_the_way(from.pieces.empty() && (range == checksum_block || from.size <= range)),
        blocks(storage::checksum_blocks(from.size)),
        checksum(fd, from.size, tree.name_of(from.path)) {}
  ~File() {
    if (finished) return;
    try {
      std::string leaf;
      const Fd parent = storage::open_parent_beneath(target, what.path, &leaf);
      unlinkat(parent.get(), leaf.c_str(), 0);
    } catch (const std::exception &) {
      // Already failing; the half file stays.
    }
  }

  const storage::Tree &target;
  const FileToFetch &what;
  const std::shared_ptr<const Fd> fd;
  const uint64_t range;
  const bool sums_on_the_way;  // each range is a block
  std::vector<uint64_t> blocks;
  std::atomic<size_t> ranges_left{1};
  bool finished = false;

  // Of those that are no blocks: what has come without a gap is read while it is in memory.
  RunningChecksum checksum;
  std::mutex mutex;
  std::map<uint64_t, uint64_t> behind_gap;  // ends by beginnings
  uint64_t gapless = 0;
};

// Before room is made for what a manifest says.
void Fetch::check_size(const FileToFetch &what) {
  const auto damaged = [&](const std::string &how) {
    storage::throw_damaged("'" + pool_.store().name_of(what.key) + "'", how);
  };
  const std::optional<ObjectInfo> info = pool_.store().find(what.key);
  if (!info) damaged("the object is missing");
  if (info->size != what.size)
    damaged("it has " + std::to_string(info->size) + " bytes instead of " +
            std::to_string(what.size));
}

void Fetch::start(const FileToFetch &what) {
  if (what.pieces.empty() && what.size > short_range) check_size(what);
  const auto file = std::make_shared<File>(target_, what);
  if (what.is_sparse()) storage::resize(file->fd->get(), what.size, target_.name_of(what.path));
  if (what.pieces.empty() && what.size <= file->range) {
    fetch(*file, {what.key, 0, 0, what.size, true});
    return finish(*file);
  }
  // A disk that is full says so now. Not every file system can set room aside.
  if (!what.is_sparse() && fallocate(file->fd->get(), 0, 0, static_cast<off_t>(what.size)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    OsFailure{errno}.raise("making room for " + target_.name_of(what.path));
  if (what.pieces.empty()) {
    file->ranges_left = static_cast<size_t>((what.size - 1) / file->range + 1);
    for (uint64_t begin = 0; begin < what.size; begin += file->range) {
      const uint64_t size = std::min(file->range, what.size - begin);
      submit(file, {what.key, begin, begin, size, begin + size == what.size});
    }
    return;
  }
  file->ranges_left = what.pieces.size();
  uint64_t begin = 0;
  for (const Piece &piece : what.pieces) {
    submit(file, {piece.key, 0, begin, piece.size, true});
    begin += piece.size;
  }
}

void Fetch::submit(const FilePtr &file, const Range &range) {
  pool_.submit([this, file, range] {
    fetch(*file, range);
    if (--file->ranges_left == 0) finish(*file);
  });
}

void Fetch::fetch(File &file, const Range &range) {
  const FileToFetch &what = file.what;
  const auto sink = std::make_shared<RangeSink>(
      file.fd, target_.name_of(what.path), range.begin, range.size, pool_.moved(),
      what.checksum && file.sums_on_the_way, what.is_sparse());
  const auto throw_damaged = [&](const std::string &how) {
    const std::string in =
        what.pieces.empty() ? "" : "of its chunk '" + pool_.store().name_of(range.key) + "': ";
    storage::throw_damaged("'" + pool_.store().name_of(what.key) + "'", in + how);
  };
  try {
    // One byte more than there should be tells of an object that has grown.
    pool_.store().get(range.key, range.from, range.is_end ? range.size + 1 : range.size,
                      what.version, sink);
  } catch (const Error &error) {
    if (error.code == Code::not_found) throw_damaged("the object is missing");
    if (error.code == Code::conflict) throw_damaged("the object was replaced meanwhile");
    if (error.code == Code::invalid && error.http_status == 416)
      throw_damaged("it ends before byte " + std::to_string(range.from));
    throw;
  }
  const uint64_t end = range.from + range.size;
  if (sink->done() > range.size)
    throw_damaged("it has more than " + std::to_string(end) + " bytes");
  if (sink->done() < range.size)
    throw_damaged("it has " + std::to_string(range.from + sink->done()) + " bytes instead of " +
                  std::to_string(what.pieces.empty() ? what.size : end));
  if (file.sums_on_the_way) file.blocks[range.begin / checksum_block] = sink->checksum();
  else if (what.checksum) read_on(file, range);
}

void Fetch::read_on(File &file, const Range &range) {
  uint64_t end = 0;
  {
    const std::lock_guard lock(file.mutex);
    file.behind_gap.emplace(range.begin, range.begin + range.size);
    for (auto next = file.behind_gap.begin();
         next != file.behind_gap.end() && next->first == file.gapless;
         next = file.behind_gap.erase(next))
      file.gapless = next->second;
    end = file.gapless;
  }
  file.checksum.advance(end);
}

void Fetch::finish(File &file) {
  if (file.what.checksum) {
    const uint64_t found =
        file.sums_on_the_way ? storage::combined_checksum(file.blocks) : file.checksum.value();
    if (found != *file.what.checksum)
      storage::throw_damaged("'" + pool_.store().name_of(file.what.key) + "'",
                             "its checksum differs from the manifest's");
  }
  if (file.what.attributes)
    storage::set_attributes(file.fd->get(), file.what.attributes->as_stat(),
                            target_.name_of(file.what.path));
  file.finished = true;
  pool_.count_file();
}

}  // namespace

void fetch_files(ObjectStore &store, const std::vector<FileToFetch> &files,
                 const storage::Tree &target, size_t requests, storage::Progress *progress) {
  if (files.empty()) return;
  uint64_t bytes = 0;
  for (const FileToFetch &file : files) bytes += file.size;
  if (progress != nullptr) progress->expect(bytes, files.size());
  Fetch(store, target, requests, progress).run(files);
}

}  // namespace det::cloud
