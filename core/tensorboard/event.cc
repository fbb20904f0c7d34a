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
  const std::string_view payload = std::string_view(out).substr(begin + header);
  std::string head;
  protobuf::append_little_endian(head, uint64_t{payload.size()});
  protobuf::append_little_endian(head, masked(crc32c(head)));
  const uint32_t checksum = masked(crc32c(payload));
  out.replace(begin, header, head);
  protobuf::append_little_endian(out, checksum);
}

void begin_value(std::string &values, std::string_view tag, size_t content_size) {
  protobuf::append_key(values, value_field, protobuf::Wire::counted);
  protobuf::append_varint(values, protobuf::bytes_size(tag.size()) + content_size);
  protobuf::append_bytes(values, tag_field, tag);
}

}  // namespace

void append_version_event(std::string &out, double wall_time) {
  append_record(out, [&] {
    protobuf::append_double(out, wall_time_field, wall_time);
    protobuf::append_bytes(out, file_version, "brain.Event:2");
  });
}

void append_scalar(std::string &values, std::string_view tag, float number) {
  begin_value(values, tag, 1 + sizeof number);
  protobuf::append_float(values, simple_value, number);
}

void append_values_event(std::string &out, double wall_time, int64_t step,
                         std::string_view values) {
  append_record(out, [&] {
    protobuf::append_double(out, wall_time_field, wall_time);
    protobuf::append_whole(out, step_field, static_cast<uint64_t>(step));
    protobuf::append_bytes(out, summary, values);
  });
}

void append_scalar_event(std::string &out, double wall_time, int64_t step, std::string_view tag,
                         float number) {
  std::string value;
  append_scalar(value, tag, number);
  append_values_event(out, wall_time, step, value);
}

void append_value_event(std::string &out, double wall_time, int64_t step, std::string_view tag,
                        std::string_view content) {
  std::string value;
  begin_value(value, tag, content.size());
  append_values_event(out, wall_time, step, value.append(content));
}

}  // namespace det::tensorboard
