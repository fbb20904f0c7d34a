#include "core/tensors/header.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tensors/header_parser.h"
#include "core/tensors/tensor.h"

namespace det::tensors {

namespace {

constexpr uint64_t length_size = 8;
constexpr uint64_t alignment = 8;
constexpr uint64_t most = 100'000'000;  // bytes of JSON, by the format

void check_place(const StoredTensor &tensor, uint64_t expected, const std::string &described) {
  const std::optional<uint64_t> bytes = bytes_of(tensor.dtype, tensor.shape);
  if (tensor.begin != expected)
    throw_damaged(described, "the data of tensor " + quoted_name(tensor.name) + " begins at " +
                                 std::to_string(tensor.begin) + " instead of " +
                                 std::to_string(expected));
  if (tensor.end < tensor.begin || bytes != tensor.end - tensor.begin)
    throw_damaged(described, "tensor " + quoted_name(tensor.name) + " is " + name_of(tensor.dtype) +
                                 " " + text_of(tensor.shape) + ", which does not fit its bytes " +
                                 std::to_string(tensor.begin) + " to " +
                                 std::to_string(tensor.end));
}

std::string read_exactly(int fd, uint64_t offset, size_t size, const std::string &described) {
  std::string bytes(size, '\0');
  for (size_t have = 0; have < size;) {
    const ssize_t got =
        pread(fd, bytes.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + described);
    if (got == 0) throw_damaged(described, "it ended while it was read");
    have += static_cast<size_t>(got);
  }
  return bytes;
}

std::string quote(const std::string &text) { return to_wire(Json(text)); }

std::string format_tensor(const StoredTensor &tensor) {
  std::string text =
      quote(tensor.name) + ":{\"dtype\":\"" + name_of(tensor.dtype) + "\",\"shape\":[";
  for (size_t d = 0; d < tensor.shape.size(); ++d)
    text += (d > 0 ? "," : "") + std::to_string(tensor.shape[d]);
  return text + "],\"data_offsets\":[" + std::to_string(tensor.begin) + "," +
         std::to_string(tensor.end) + "]}";
}

std::string format_metadata(const FileMetadata &metadata) {
  std::string text;
  for (const auto &[key, value] : metadata)
    text += (text.empty() ? "" : ",") + quote(key) + ":" + quote(value);
  return quote(metadata_key) + ":{" + text + "}";
}

}  // namespace

void throw_damaged(const std::string &described, const std::string &problem) {
  throw Error(Code::corrupt,
              "reading " + described + ": " + problem + "; it is damaged, or no safetensors file");
}

Header parse_header(std::string_view json, uint64_t data_size, const std::string &described) {
  if (!json.starts_with('{')) throw_damaged(described, "its header is no JSON object");
  Header header;
  HeaderParser parser(header,
                      [&](const std::string &problem) { throw_damaged(described, problem); });
  Json::sax_parse(json.begin(), json.end(), &parser);
  std::ranges::sort(header.tensors, [](const StoredTensor &one, const StoredTensor &other) {
    return std::pair(one.begin, one.end) < std::pair(other.begin, other.end);
  });
  uint64_t expected = 0;
  for (const StoredTensor &tensor : header.tensors) {
    check_place(tensor, expected, described);
    expected = tensor.end;
  }
  if (expected != data_size)
    throw_damaged(described, "its tensors have " + std::to_string(expected) +
                                 " bytes, but it has " + std::to_string(data_size));
  header.size = length_size + json.size();
  return header;
}

Header read_header(int fd, const std::string &described) {
  struct stat about {};
  if (fstat(fd, &about) != 0) OsFailure{errno}.raise("looking at " + described);
  if (!S_ISREG(about.st_mode)) throw_damaged(described, "it is no regular file");
  const auto file_size = static_cast<uint64_t>(about.st_size);
  if (file_size < length_size) throw_damaged(described, "it has less than 8 bytes");
  const std::string length_bytes = read_exactly(fd, 0, length_size, described);
  uint64_t length = 0;
  for (size_t i = length_size; i-- > 0;)
    length = length << 8U | static_cast<unsigned char>(length_bytes[i]);
  if (length > most)
    throw_damaged(described,
                  "its header would have " + std::to_string(length) + " bytes, of 100 MB at most");
  if (length > file_size - length_size)
    throw_damaged(described, "its header has " + std::to_string(length) +
                                 " bytes, but the file only " + std::to_string(file_size));
  return parse_header(read_exactly(fd, length_size, length, described),
                      file_size - length_size - length, described);
}

std::string format_header(const std::vector<StoredTensor> &tensors, const FileMetadata &metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += format_metadata(metadata);
  for (const StoredTensor &tensor : tensors)
    text += (text.size() > 1 ? "," : "") + format_tensor(tensor);
  text += '}';
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  if (text.size() > most)
    throw Error(Code::invalid, "writing tensors: the header would have " +
                                   std::to_string(text.size()) +
                                   " bytes, of 100 MB at most; write several files");
  std::string length;
  for (size_t i = 0; i < length_size; ++i) length += static_cast<char>(text.size() >> (8 * i));
  return length + text;
}

}  // namespace det::tensors
