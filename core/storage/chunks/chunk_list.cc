#include "core/storage/chunks/chunk_list.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/base/crypto/secure_hash.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/storage/block_checksum.h"
#include "core/storage/chunks/chunker.h"
#include "core/storage/manifest.h"
#include "core/storage/tree.h"

namespace det::storage {

namespace {

constexpr const char *hex_digits = "0123456789abcdef";

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

constexpr int list_version = 1;
constexpr size_t checksum_digits = 16;  // at the end

std::string checksum_text(std::string_view bytes) {
  std::array<char, checksum_digits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(checksum64(bytes.data(), bytes.size())));
  return text.data();
}

// The digests as one string, since there are many.
Json to_json(const std::string &path, const ChunkedFile &file) {
  std::string digests;
  Json sizes = Json::array(), generations = Json::array();
  for (size_t i = 0; i < file.chunks.size(); ++i) {
    const ChunkName &name = file.chunks[i].name;
    digests.append(name.digest.begin(), name.digest.end());
    sizes.push_back(file.chunks[i].size);
    if (name.generation > 0) generations.push_back({i, name.generation});
  }
  Json json = Json::array({path, file.size, file.checksum, file.mode, file.mtime_ns, file.owner,
                           std::move(digests), std::move(sizes), std::move(generations)});
  if (file.is_sparse) json.push_back(true);
  return json;
}

ChunkedFile file_from(const Json &json) {
  constexpr unsigned most_mode = 0777;
  ChunkedFile file{number_from<uint64_t>(json.at(1), 0, INT64_MAX),
                   number_from<uint64_t>(json.at(2), 0, UINT64_MAX),
                   number_from<unsigned>(json.at(3), 0, most_mode),
                   number_from<int64_t>(json.at(4), INT64_MIN, INT64_MAX),
                   json.at(5),
                   {}};
  const auto &digests = json.at(6).get_ref<const std::string &>();
  const Json &sizes = json.at(7);
  constexpr size_t digest_size = std::tuple_size_v<decltype(ChunkName::digest)>;
  if (digests.size() != sizes.size() * digest_size)
    throw Error(Code::corrupt, "it names other chunks than it has sizes of");
  uint64_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Chunk chunk{{}, number_from<uint64_t>(sizes[i], 1, chunk_most)};
    std::memcpy(chunk.name.digest.data(), digests.data() + i * digest_size, digest_size);
    if (chunk.size > checksum_block - at % checksum_block)
      throw Error(Code::corrupt, "a chunk has a size that none can have");
    at += chunk.size;
    file.chunks.push_back(chunk);
  }
  if (at != file.size) throw Error(Code::corrupt, "the chunks are not as long as their file");
  for (const Json &later : json.at(8))
    file.chunks.at(number_from<size_t>(later.at(0), 0, SIZE_MAX)).name.generation =
        number_from<uint64_t>(later.at(1), 0, UINT64_MAX);
  constexpr size_t sparse_at = 9;  // where it is
  file.is_sparse = json.size() > sparse_at && json.at(sparse_at).get<bool>();
  return file;
}

ChunkedFiles files_from(std::string_view bytes) {
  if (bytes.size() < checksum_digits ||
      bytes.substr(bytes.size() - checksum_digits) !=
          checksum_text(bytes.substr(0, bytes.size() - checksum_digits)))
    throw Error(Code::corrupt, "its checksum differs from what is written at its end");
  bytes.remove_suffix(checksum_digits);
  const Json json = unpack(bytes, "the list of chunks");
  if (json.at("version") != list_version)
    throw Error(Code::unsupported,
                "its version is " + json.at("version").dump() + ", made by a newer release");
  ChunkedFiles files;
  for (const Json &file : json.at("files")) {
    auto path = file.at(0).get<std::string>();
    if (!is_plain_path(path)) throw Error(Code::corrupt, "a path leads out of the checkpoint");
    files[std::move(path)] = file_from(file);
  }
  return files;
}

}  // namespace

ChunkName name_of_chunk(std::string_view bytes) { return {sha256(bytes)}; }

std::string to_text(const ChunkName &name) {
  std::string text;
  for (const unsigned char byte : name.digest) {
    text += hex_digits[byte >> 4];
    text += hex_digits[byte & 15];
  }
  if (name.generation > 0) text += "-" + std::to_string(name.generation);
  return text;
}

std::optional<ChunkName> chunk_name_from(std::string_view text) {
  ChunkName name;
  if (text.size() < 2 * name.digest.size()) return std::nullopt;
  for (size_t i = 0; i < name.digest.size(); ++i) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    name.digest[i] = static_cast<unsigned char>(high * 16 + low);
  }
  const std::string_view rest = text.substr(2 * name.digest.size());
  if (rest.empty()) return name;
  const char *const end = rest.data() + rest.size();
  const auto [last, failure] = std::from_chars(rest.data() + 1, end, name.generation);
  if (rest[0] != '-' || failure != std::errc() || last != end || to_text(name) != text)
    return std::nullopt;
  return name;
}

std::string pack_chunk_list(const ChunkedFiles &files) {
  Json list = Json::array();
  for (const auto &[path, file] : files) list.push_back(to_json(path, file));
  std::string bytes = pack(Json{{"version", list_version}, {"files", std::move(list)}});
  return bytes + checksum_text(bytes);
}

ChunkedFiles unpack_chunk_list(std::string_view bytes, const std::string &described) {
  try {
    return files_from(bytes);
  } catch (const Error &error) {
    if (error.code == Code::unsupported)
      throw Error(Code::unsupported,
                  "reading " + described + ": " + error.what() + "; update this library");
    throw_damaged(described, error.what());
  } catch (const std::out_of_range &error) {
    throw_damaged(described, error.what());
  } catch (const Json::exception &error) {
    throw_damaged(described, error.what());
  }
}

}  // namespace det::storage
