// What Google Cloud Storage says of an object.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"

namespace det::cloud {

struct GcsObject {
  using Metadata = std::map<std::string, std::string>;

  // What the rest is read from. Throws Code::corrupt where something of it is missing.
  static GcsObject from_json(const Json &json);

  // Whether its bytes are those of other objects in a row.
  bool is_made_of(const std::vector<GcsObject> &parts) const noexcept;

  std::string key;
  uint64_t size = 0, generation = 0;
  uint32_t crc32c = 0;
  int64_t created_ms = 0, updated_ms = 0;
  Metadata metadata{};  // what its writers say of it

  // Of an answer: what from_json() reads.
  static constexpr const char *fields = "name,size,generation,crc32c,timeCreated,updated,metadata";
};

}  // namespace det::cloud
