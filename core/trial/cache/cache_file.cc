#include "core/trial/cache/cache_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text/percent.h"
#include "core/base/text/printable.h"
#include "core/base/text/utf8.h"

namespace det::trial {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are here");

constexpr std::string_view mark = "detcache";
constexpr uint32_t format = 1;
constexpr size_t bytes_per_record = sizeof(uint64_t) + sizeof(uint32_t);

struct Trailer {
  uint64_t count = 0;
  uint64_t index_at = 0;  // the ends, then the checksums
  uint64_t about_size = 0;
  uint32_t index_checksum = 0;
  uint32_t about_checksum = 0;
  uint32_t version = format;
  uint32_t checksum = 0;  // of the members above
};
static_assert(sizeof(Trailer) == cache_trailer_size && mark.size() == CacheIndex::begin);

template <class T>
std::string_view bytes_of(const std::vector<T> &numbers) {
  return {reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T)};
}

std::string_view bytes_of(const Trailer &trailer) {
  return {reinterpret_cast<const char *>(&trailer), sizeof trailer};
}

uint32_t checksum_of(const Trailer &trailer) {
  return crc32c(bytes_of(trailer).substr(0, offsetof(Trailer, checksum)));
}

uint32_t checksum_of(const CacheIndex &index) {
  return crc32c(bytes_of(index.checksums), crc32c(bytes_of(index.ends)));
}

// "." and ".." lead elsewhere, and '/' into a directory of another data set.
std::string directory_name(const std::string &name, const char *what) {
  constexpr size_t longest = 255;
  const auto refuse = [&](const std::string &problem) {
    throw Error(Code::invalid, "opening a cached data set: " + std::string(what) + problem);
  };
  if (name.empty()) refuse(" is empty; give it a name");
  if (!is_utf8(name)) refuse(" is not UTF-8");
  if (name == "." || name == "..") return "%2E" + name.substr(1);
  std::string encoded = percent_encoded(name, " ,=+@");
  if (encoded.size() > longest)
    refuse(" is too long for the name of a directory: '" + printable(name.substr(0, 40)) +
           "...'; use at most " + std::to_string(longest) + " characters");
  return encoded;
}

Trailer read_trailer(const Fd &file, const fs::path &path, uint64_t size) {
  Trailer trailer;
  if (size < mark.size() + sizeof trailer) refuse_cache(path, "it is too short");
  std::string first(mark.size(), '\0');
  read_at(file, path, first.data(), first.size(), 0);
  if (first != mark) refuse_cache(path, "it is no cached data set");
  read_at(file, path, &trailer, sizeof trailer, size - sizeof trailer);
  if (trailer.checksum != checksum_of(trailer)) refuse_cache(path, "its end is damaged");
  if (trailer.version > format)
    throw Error(Code::unsupported,
                "reading the cached data set '" + path.string() + "': a newer release wrote it (" +
                    std::to_string(trailer.version) + " instead of " + std::to_string(format) +
                    "); use that release, or another directory");
  const uint64_t room = size - sizeof trailer;
  if (trailer.index_at < mark.size() || trailer.index_at > room ||
      trailer.about_size > room - trailer.index_at ||
      trailer.count > (room - trailer.index_at) / bytes_per_record ||
      trailer.index_at + trailer.count * bytes_per_record + trailer.about_size != room)
    refuse_cache(path, "its parts do not fit into it");
  return trailer;
}

CacheIndex read_index(const Fd &file, const fs::path &path, const Trailer &trailer) {
  CacheIndex index;
  index.ends.resize(trailer.count);
  index.checksums.resize(trailer.count);
  const size_t ends_size = trailer.count * sizeof(uint64_t);
  read_at(file, path, index.ends.data(), ends_size, trailer.index_at);
  read_at(file, path, index.checksums.data(), trailer.count * sizeof(uint32_t),
          trailer.index_at + ends_size);
  if (checksum_of(index) != trailer.index_checksum) refuse_cache(path, "its index is damaged");
  uint64_t before = CacheIndex::begin;
  for (const uint64_t end : index.ends)
    if (end < std::exchange(before, end)) refuse_cache(path, "its index is out of order");
  if (before != trailer.index_at) refuse_cache(path, "its index does not fit its records");
  return index;
}

}  // namespace

void refuse_cache(const fs::path &path, const std::string &problem) {
  throw Error(Code::corrupt, "reading the cached data set '" + path.string() + "': " + problem +
                                 "; remove the file, and it is made anew");
}

fs::path cache_directory(const fs::path &root, const CacheIdentity &identity) {
  if (root.empty())
    throw Error(Code::invalid, "opening a cached data set: the directory of caches has no name");
  return root / directory_name(identity.id, "its id") /
         directory_name(identity.version, "its version");
}

fs::path cache_path_aside(const fs::path &directory) {
  return directory / (std::string(cache_file_name) + ".partial");
}

std::string_view cache_mark() { return mark; }

std::string cache_tail(const CacheIndex &index, const CacheIdentity &identity,
                       const std::string &metadata) {
  const std::string about =
      to_wire(Json{{"id", identity.id}, {"version", identity.version}, {"metadata", metadata}});
  Trailer trailer;
  trailer.count = index.count();
  trailer.index_at = index.count() == 0 ? CacheIndex::begin : index.ends.back();
  trailer.about_size = about.size();
  trailer.index_checksum = checksum_of(index);
  trailer.about_checksum = crc32c(about);
  trailer.checksum = checksum_of(trailer);
  std::string tail;
  tail.reserve(index.count() * bytes_per_record + about.size() + sizeof trailer);
  tail.append(bytes_of(index.ends)).append(bytes_of(index.checksums)).append(about);
  return tail.append(bytes_of(trailer));
}

CacheContents read_cache_contents(const Fd &file, const fs::path &path,
                                  const CacheIdentity &identity) {
  struct stat found {};
  if (fstat(file.get(), &found) != 0) OsFailure{errno}.raise("looking at '" + path.string() + "'");
  if (!S_ISREG(found.st_mode)) refuse_cache(path, "it is no ordinary file");
  const Trailer trailer = read_trailer(file, path, static_cast<uint64_t>(found.st_size));
  CacheContents contents;
  contents.index = read_index(file, path, trailer);
  std::string about(trailer.about_size, '\0');
  read_at(file, path, about.data(), about.size(),
          trailer.index_at + trailer.count * bytes_per_record);
  if (crc32c(about) != trailer.about_checksum) refuse_cache(path, "its description is damaged");
  const Json said = parse_json_object(about, "the description of a cached data set");
  if (said.value("id", "") != identity.id || said.value("version", "") != identity.version)
    refuse_cache(path, "it is that of another data set");
  contents.metadata = said.value("metadata", "");
  return contents;
}

void read_at(const Fd &file, const fs::path &path, void *into, size_t size, uint64_t offset) {
  auto *at = static_cast<char *>(into);
  while (size > 0) {
    const ssize_t got = pread(file.get(), at, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading '" + path.string() + "'");
    if (got == 0) refuse_cache(path, "it was cut short");
    at += got;
    size -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
}

}  // namespace det::trial
