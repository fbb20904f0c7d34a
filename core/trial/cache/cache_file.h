// The file of a cached data set: a mark, the records one after the other, their index, what the
// caller says of them, and a trailer that tells where all that is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"

namespace det::trial {

// Which data set it is. Both are text of any kind; what cannot stand in a file's name is encoded.
struct CacheIdentity {
  std::string id;
  std::string version;
};

// The directory of a data set below `root`. Throws Code::invalid: a name is empty or too long.
std::filesystem::path cache_directory(const std::filesystem::path &root,
                                      const CacheIdentity &identity);

// Where the file is in that directory, and what its writer keeps locked.
inline constexpr std::string_view cache_file_name = "records.cache";
inline constexpr std::string_view cache_lock_name = "records.lock";

// What is there of the file until it is whole; of whoever has the lock.
std::filesystem::path cache_path_aside(const std::filesystem::path &directory);

// Bytes at the end, by which two files that are of one size are known to be the same.
inline constexpr size_t cache_trailer_size = 40;

struct CacheIndex {
  std::vector<uint64_t> ends;  // where each record ends in the file; the first begins at `begin`
  std::vector<uint32_t> checksums;

  static constexpr uint64_t begin = 8;  // the mark is before it

  size_t count() const { return ends.size(); }
  uint64_t start(size_t record) const { return record == 0 ? begin : ends[record - 1]; }
  uint64_t size(size_t record) const { return ends[record] - start(record); }
};

// The first bytes of a file.
std::string_view cache_mark();

// All that follows the records.
std::string cache_tail(const CacheIndex &index, const CacheIdentity &identity,
                       const std::string &metadata);

struct CacheContents {
  CacheIndex index;
  std::string metadata;
};

// Reads and checks all but the records. Throws Code::corrupt, naming `path`, when it is no such
// file or that of another data set; Code::unsupported when a newer release wrote it.
CacheContents read_cache_contents(const Fd &file, const std::filesystem::path &path,
                                  const CacheIdentity &identity);

// pread(2) of all `size` bytes. Throws Code::corrupt where the file is too short.
void read_at(const Fd &file, const std::filesystem::path &path, void *into, size_t size,
             uint64_t offset);

// What a person is told who has such a file.
[[noreturn]] void refuse_cache(const std::filesystem::path &path, const std::string &problem);

}  // namespace det::trial
