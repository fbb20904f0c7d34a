#include "core/tensors/header.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tensors/tensor.h"

namespace det::tensors {

namespace {

// Takes the JSON of a header apart while it is read: no document of it is made, which would be many
// times as large, and nothing else than what the format has is let through. The JSON library calls
// it.
class HeaderParser {
 public:
  // `refuse` must throw.
  using Refuse = std::function<void(const std::string &problem)>;
  HeaderParser(Header &header, Refuse refuse) : header_(header), refuse_(std::move(refuse)) {}

  bool start_object(size_t);
  bool key(std::string &name);
  bool end_object();
  bool start_array(size_t);
  bool end_array();
  bool string(std::string &value);
  bool number_unsigned(uint64_t value);
  bool null() { return refuse("null"); }
  bool boolean(bool) { return refuse("true or false"); }
  bool number_integer(int64_t) { return refuse("a negative number"); }
  bool number_float(double, const std::string &) { return refuse("a fraction"); }
  bool binary(Json::binary_t &) { return refuse("binary data"); }
  bool parse_error(size_t, const std::string &, const Json::exception &e);

 private:
  enum class Place { outside, top, metadata, tensor };
  enum class Field { none, dtype, shape, offsets };

  bool refuse(const std::string &found) const;
  bool tensor_key(const std::string &name);

  Header &header_;
  const Refuse refuse_;
  Place place_ = Place::outside;
  Field field_ = Field::none;
  bool in_array_ = false;
  std::string name_;  // the last key on top
  std::string metadata_name_;
  std::unordered_set<std::string> names_;
  unsigned fields_ = 0;  // those that the tensor has, a bit for each
  Shape offsets_;
};

constexpr unsigned all_fields = 0b1110;  // of Field

bool HeaderParser::refuse(const std::string &found) const {
  refuse_(name_.empty() ? found + " in its header" : found + " at " + quoted_name(name_));
  return false;
}

bool HeaderParser::start_object(size_t) {
  if (place_ == Place::outside) {
    place_ = Place::top;
  } else if (place_ == Place::top && name_ == metadata_key) {
    place_ = Place::metadata;
  } else if (place_ == Place::top) {
    place_ = Place::tensor;
    header_.tensors.push_back({name_, Dtype::u8, {}});
    fields_ = 0;
  } else {
    return refuse("an object too many");
  }
  return true;
}

bool HeaderParser::key(std::string &name) {
  if (place_ == Place::tensor) return tensor_key(name);
  if (place_ == Place::metadata) {
    if (header_.metadata.contains(name)) return refuse("the key " + quoted_name(name) + " twice");
    metadata_name_ = std::move(name);
    return true;
  }
  name_ = std::move(name);
  if (!names_.insert(name_).second) {
    refuse_("tensor " + quoted_name(name_) + " is there twice");
    return false;
  }
  return true;
}

bool HeaderParser::tensor_key(const std::string &name) {
  field_ = name == "dtype"          ? Field::dtype
           : name == "shape"        ? Field::shape
           : name == "data_offsets" ? Field::offsets
                                    : Field::none;
  const unsigned bit = 1U << static_cast<unsigned>(field_);
  if (field_ == Field::none) return refuse("the unknown field " + quoted_name(name));
  if ((fields_ & bit) != 0) return refuse("the field " + quoted_name(name) + " twice");
  fields_ |= bit;
  return true;
}

bool HeaderParser::end_object() {
  if (place_ == Place::tensor && fields_ != all_fields)
    return refuse("no dtype, shape or data_offsets");
  field_ = Field::none;
  place_ = place_ == Place::top ? Place::outside : Place::top;
  return true;
}

bool HeaderParser::start_array(size_t) {
  if (in_array_ || (field_ != Field::shape && field_ != Field::offsets))
    return refuse("an array too many");
  in_array_ = true;
  offsets_.clear();
  return true;
}

bool HeaderParser::end_array() {
  in_array_ = false;
  if (field_ == Field::offsets) {
    if (offsets_.size() != 2) return refuse("data_offsets that are not two");
    header_.tensors.back().begin = offsets_[0];
    header_.tensors.back().end = offsets_[1];
  }
  return true;
}

bool HeaderParser::string(std::string &value) {
  if (place_ == Place::metadata) {
    header_.metadata.emplace(metadata_name_, std::move(value));
    return true;
  }
  if (field_ != Field::dtype) return refuse("a text");
  const std::optional<Dtype> dtype = dtype_named(value);
  if (!dtype) return refuse("the unknown dtype " + quoted_name(value));
  header_.tensors.back().dtype = *dtype;
  return true;
}

bool HeaderParser::number_unsigned(uint64_t value) {
  if (!in_array_) return refuse("a number");
  Shape &numbers = field_ == Field::shape ? header_.tensors.back().shape : offsets_;
  if (numbers.size() == most_dimensions) return refuse("too many dimensions");
  numbers.push_back(value);
  return true;
}

bool HeaderParser::parse_error(size_t, const std::string &, const Json::exception &e) {
  const char *detail = std::strstr(e.what(), "] ");
  refuse_(std::string("its header is not valid JSON: ") +
          (detail != nullptr ? detail + 2 : e.what()));
  return false;
}

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
