// What S3 answers in XML. All throw Code::corrupt for what is damaged; `what` names it in errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cloud/object_store.h"

namespace det::cloud {

// From one key on, as far as an answer goes.
struct ObjectPage {
  std::vector<ObjectInfo> objects;
  std::string next;  // where the next page begins; empty: this is the last
};
ObjectPage read_object_page(const std::string &text, const std::string &what);

struct PartPage {
  std::vector<StoredPart> parts;
  std::string next;
};
PartPage read_part_page(const std::string &text, const std::string &what);

struct UploadPage {
  std::vector<PendingUpload> uploads;
  std::string next_key, next_upload;  // empty: this is the last
};
UploadPage read_upload_page(const std::string &text, const std::string &what);

// A key that could not be removed.
struct KeyRefusal {
  std::string key, code, message;
};
std::vector<KeyRefusal> read_removals(const std::string &text, const std::string &what);

// The quotes around an ETag are no part of it: some stores list it without.
std::string unquoted(std::string text);

}  // namespace det::cloud
