#include "core/tensorboard/event.h"

#include "core/base/crc32c.h"
#include "core/tensorboard/protobuf.h"

namespace det::tensorboard {

namespace {

// The numbers of fields.
enum Event : unsigned { wall_time_field = 1, step_field = 2, file_version = 3, summary = 5 };
enum Summary : unsigned { value_field = 1 };
enum Value : unsigned { tag_field = 1, simple_value = 2 };

// A checksum of data that itself holds checksums is weak, so they are stored masked.
uint32_t masked(uint32_t crc) { return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U; }

// Length, its checksum, the payload, its checksum.
template <class Append>
void append_record(std::string &out, const Append &append_payload) {
  constexpr size_t header = sizeof(uint64_t) + sizeof(uint32_t);
  const size_t begin = out.size();
  out.append(header, '\0');
  append_payload();
  std::string length;
  protobuf::append_little_endian(length, uint64_t{out.size() - begin - header});
  protobuf::append_little_endian(length, masked(crc32c(length)));
  out.replace(begin, header, length);
  const std::string_view payload = std::string_view(out).substr(begin + header);
  protobuf::append_little_endian(out, masked(crc32c(payload)));
}

}  // namespace

void append_version_event(std::string &out, double wall_time) {
  append_record(out, [&] {
    protobuf::append_double(out, wall_time_field, wall_time);
    protobuf::append_bytes(out, file_version, "brain.Event:2");
  });
}

void append_scalar_event(std::string &out, double wall_time, int64_t step, std::string_view tag,
                         float value) {
  std::string content;
  protobuf::append_float(content, simple_value, value);
  append_value_event(out, wall_time, step, tag, content);
}

void append_value_event(std::string &out, double wall_time, int64_t step, std::string_view tag,
                        std::string_view content) {
  append_record(out, [&] {
    protobuf::append_double(out, wall_time_field, wall_time);
    protobuf::append_whole(out, step_field, static_cast<uint64_t>(step));
    const size_t value_size = protobuf::bytes_size(tag.size()) + content.size();
    protobuf::append_key(out, summary, protobuf::Wire::counted);
    protobuf::append_varint(out, protobuf::bytes_size(value_size));
    protobuf::append_key(out, value_field, protobuf::Wire::counted);
    protobuf::append_varint(out, value_size);
    protobuf::append_bytes(out, tag_field, tag);
    out += content;
  });
}

}  // namespace det::tensorboard
