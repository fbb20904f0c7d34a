#include "core/tensors/reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/tensors/shard_plan.h"
#include "core/tensors/sharding.h"

namespace det::tensors {

namespace {

constexpr uint64_t largest_index = 100'000'000;  // bytes, as of a header

std::string read_index(int fd, const std::string &described) {
  struct stat about {};
  if (fstat(fd, &about) != 0) OsFailure{errno}.raise("looking at " + described);
  if (!S_ISREG(about.st_mode) || static_cast<uint64_t>(about.st_size) > largest_index)
    throw Error(Code::corrupt,
                "reading " + described + ": it is no regular file of 100 MB at most");
  std::string text(static_cast<size_t>(about.st_size), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = pread(fd, text.data() + have, text.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + described);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  text.resize(have);
  return text;
}

std::string beside(const std::string &path, const std::string &name) {
  return path.substr(0, path.rfind('/') + 1) + name;
}

}  // namespace

Reader::Reader(storage::Tree root, const std::string &name, bool confined)
    : root_(std::move(root)), described_(root_.name_of(name)), confined_(confined) {
  if (confined && !storage::is_plain_path(name))
    throw Error(Code::invalid, "opening " + described_ +
                                   ": give the name of a file in the checkpoint, such as "
                                   "'model.safetensors'");
  std::unordered_map<std::string, size_t> places;
  const std::string index = name + index_ending;
  if (open_file(name)) {
    add_file(name, places);
  } else if (const Fd listed = open_file(index)) {
    const std::string index_name = root_.name_of(index);
    for (const std::string &file : parse_index(read_index(listed.get(), index_name), index_name))
      add_file(beside(name, file), places);
  } else {
    throw Error(Code::not_found, "opening " + described_ +
                                     ": there is no such file, and no index of that name (" +
                                     root_.name_of(index) + "); check the name");
  }
  std::ranges::sort(entries_, {}, &Entry::name);
  for (Entry &entry : entries_) settle(entry);
}

// Nothing where there is no such file.
Fd Reader::open_file(const std::string &path) const {
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;  // a pipe must not make us wait
  Fd file(confined_ ? storage::open_beneath(root_.fd.get(), path, flags)
                    : openat(root_.fd.get(), path.c_str(), flags));
  if (file || errno == ENOENT) return file;
  if (confined_ && (errno == EXDEV || errno == ELOOP))
    throw Error(Code::corrupt, "opening " + root_.name_of(path) +
                                   ": it leads out of the checkpoint; restore another checkpoint");
  OsFailure{errno}.raise("opening " + root_.name_of(path));
}

Fd Reader::reopen(const File &file) const {
  Fd opened = open_file(file.path);
  struct stat about {};
  if (!opened || fstat(opened.get(), &about) != 0 || storage::FileStamp::of(about) != file.stamp)
    throw Error(Code::conflict, "reading " + root_.name_of(file.path) +
                                    ": the file changed since it was opened; open it again");
  return opened;
}

void Reader::add_file(const std::string &path, std::unordered_map<std::string, size_t> &places) {
  const std::string described = root_.name_of(path);
  const Fd file = open_file(path);
  if (!file)
    throw Error(Code::corrupt, "opening " + described + ": it is missing, though the index of " +
                                   described_ + " lists it; restore another checkpoint");
  const Header header = read_header(file.get(), described);
  struct stat about {};
  if (fstat(file.get(), &about) != 0) OsFailure{errno}.raise("looking at " + described);
  if (files_.empty()) metadata_ = without_sharding(header.metadata);
  files_.push_back({path, storage::FileStamp::of(about)});
  const std::vector<TensorPart> parts = parts_of(header, described);
  for (size_t i = 0; i < parts.size(); ++i) {
    const TensorPart &part = parts[i];
    const auto [place, is_new] = places.try_emplace(part.name, entries_.size());
    if (is_new) entries_.push_back({part.name, part.dtype, part.whole, {}});
    Entry &entry = entries_[place->second];
    const bool alike = entry.dtype == part.dtype && entry.shape == part.whole &&
                       (is_new || entry.parts[0].region.shape.size() == part.region.shape.size());
    if (!alike)
      throw Error(Code::corrupt, "reading " + described + ": tensor " + quoted_name(part.name) +
                                     " is another one than in " +
                                     root_.name_of(files_[entry.parts[0].file].path));
    entry.parts.push_back({files_.size() - 1, part.region, header.size + header.tensors[i].begin});
  }
}

// Finds the shape where no file tells it, and makes sure that all of it is there.
void Reader::settle(Entry &entry) const {
  if (entry.shape.empty())
    for (const Part &part : entry.parts) {
      entry.shape.resize(part.region.shape.size());
      for (size_t d = 0; d < entry.shape.size(); ++d)
        entry.shape[d] = std::max(entry.shape[d], part.region.offset[d] + part.region.shape[d]);
    }
  const auto refuse = [&](const std::string &problem) {
    throw Error(Code::corrupt, "opening " + described_ + ": tensor " + quoted_name(entry.name) +
                                   " " + text_of(entry.shape) + ": " + problem +
                                   " (the numbers are files); restore another checkpoint");
  };
  if (!bytes_of(entry.dtype, entry.shape)) refuse("its size cannot be");
  std::vector<PlacedPart> parts;
  for (const Part &part : entry.parts) parts.push_back({part.region, part.file});
  check_cover(parts, entry.shape, refuse);
}

const Reader::Entry *Reader::find(const std::string &name) const {
  const auto found = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

const Reader::Entry &Reader::expect(const Tensor &wanted) const {
  const Entry *entry = find(wanted.name);
  if (entry == nullptr)
    throw Error(Code::not_found,
                "reading tensor " + quoted_name(wanted.name) + ": there is none in " + described_);
  if (entry->dtype != wanted.dtype || entry->shape != wanted.whole)
    throw Error(Code::invalid, "reading tensor " + quoted_name(wanted.name) + " as " +
                                   name_of(wanted.dtype) + " " + text_of(wanted.whole) + ": in " +
                                   described_ + " it is " + name_of(entry->dtype) + " " +
                                   text_of(entry->shape));
  check(wanted);
  return *entry;
}

}  // namespace det::tensors
