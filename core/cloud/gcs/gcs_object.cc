#include "core/cloud/gcs/gcs_object.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/cloud/checksum.h"
#include "core/cloud/gcs/google_answer.h"

namespace det::cloud {

namespace {

int64_t time_member(const Json &json, const char *member) {
  const auto time = parse_iso8601(text_member(json, member));
  if (!time) throw Error(Code::corrupt, std::string("the answer is damaged: no time in ") + member);
  return *time / 1000;
}

}  // namespace

GcsObject GcsObject::from_json(const Json &json) {
  GcsObject object{.key = text_member(json, "name"),
                   .size = number_member(json, "size"),
                   .generation = number_member(json, "generation"),
                   .created_ms = time_member(json, "timeCreated"),
                   .updated_ms = time_member(json, "updated")};
  const auto checksum = crc32c_in(text_member(json, "crc32c"));
  if (!checksum) throw Error(Code::corrupt, "the answer is damaged: its crc32c is none");
  object.crc32c = *checksum;
  const auto metadata = json.find("metadata");
  if (metadata != json.end() && metadata->is_object())
    for (const auto &[name, value] : metadata->items())
      if (value.is_string()) object.metadata[name] = value.get<std::string>();
  return object;
}

bool GcsObject::is_made_of(const std::vector<GcsObject> &parts) const noexcept {
  uint64_t whole_size = 0;
  uint32_t whole = 0;
  for (const GcsObject &part : parts) {
    whole = joined_crc32c(whole, part.crc32c, part.size);
    whole_size += part.size;
  }
  return size == whole_size && crc32c == whole;
}

}  // namespace det::cloud
