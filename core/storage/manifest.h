// What a checkpoint should hold: the size and checksum of each file, kept in its root.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/storage/file_transfer.h"
#include "core/storage/storage.h"

namespace det::storage {

struct ManifestEntry {
  uint64_t size = 0;
  uint64_t checksum = 0;
  // Where the file itself does not tell.
  std::optional<FileAttributes> attributes{};
};

using Manifest = std::map<std::string, ManifestEntry>;  // by relative path, files only

// With the directories and their modes, where nothing else tells of them: without '/' at the end.
struct ManifestText {
  Manifest files;
  std::map<std::string, std::optional<unsigned>> directories{};
  bool chunked = false;  // files of it are in chunks: releases that know of none refuse it
};

std::string to_text(const ManifestText &manifest);

// Of what is stored as `described`; Code::corrupt when it cannot be understood, Code::unsupported
// where it is of a newer release, or has files in chunks and the caller does not read these.
ManifestText parse_manifest(const std::string &text, const std::string &described,
                            bool reads_chunks = false);

// Into a tree without one; Code::invalid where the name is taken.
void write_manifest(const Tree &root, const Manifest &manifest, bool chunked = false);

// Nothing when there is none; Code::corrupt when it cannot be understood.
std::optional<Manifest> read_manifest(const Tree &root);

// In place of an old one, durably.
void replace_manifest(const Tree &root, const Manifest &manifest, bool chunked = false);

// Compares the sizes of the listed files that `wanted` takes. Throws Code::corrupt naming the first
// that is missing or differs.
void verify_sizes(const Tree &root, const Manifest &manifest, const Selector &wanted);
// The sizes and checksums of all.
void verify(const Tree &root, const Manifest &manifest, Progress *progress);

// A number that was read: Code::corrupt where it is none, or lies beyond these. Json::get() makes
// another number of one that has no room.
template <class Number>
Number number_from(const Json &number, Number least, Number most) {
  const bool fits = number.is_number_unsigned()
                        ? number.get<uint64_t>() <= static_cast<uint64_t>(most)
                        : number.is_number_integer() &&
                              number.get<int64_t>() >= static_cast<int64_t>(least) &&
                              number.get<int64_t>() <= static_cast<int64_t>(most);
  if (!fits) throw Error(Code::corrupt, number.dump() + " is no number that can stand there");
  return number.get<Number>();
}

[[noreturn]] void throw_damaged(const std::string &described, const std::string &how);

// Throws Code::corrupt unless `file` is what the manifest says, or it says nothing.
void verify_checksum(const Tree &root, const Manifest &manifest, const HashedFile &file);

}  // namespace det::storage
