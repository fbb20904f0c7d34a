#include "core/cloud/gcs/gcs_parts.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/cloud/checksum.h"

namespace det::cloud {

namespace {

constexpr size_t most_sources = 32;  // of a composition
constexpr const char *key_mark = "detcore-key";
constexpr std::string_view part_name = "part-";

// In the order of their numbers also as text.
std::string padded(size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
}

std::optional<int> number_of_part(std::string_view name) {
  if (!name.starts_with(part_name)) return std::nullopt;
  name.remove_prefix(part_name.size());
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

StoredPart stored_part(int number, const GcsObject &object) {
  return {number, object.size, std::to_string(object.generation), crc32c_text(object.crc32c)};
}

GcsObject object_of(const StoredPart &part, std::string key) {
  GcsObject object{.key = std::move(key), .size = part.size};
  const auto sum = crc32c_in(part.checksum);
  const char *end = part.version.data() + part.version.size();
  const auto result = std::from_chars(part.version.data(), end, object.generation);
  if (!sum || result.ec != std::errc{} || result.ptr != end)
    throw Error(Code::invalid, "putting parts together: part " + std::to_string(part.number) +
                                   " is none that was stored or listed");
  object.crc32c = *sum;
  return object;
}

}  // namespace

GcsParts::GcsParts(std::shared_ptr<GcsObjects> objects, const std::string &prefix,
                   std::shared_ptr<Logger> logger)
    : objects_(std::move(objects)),
      folder_((prefix.empty() ? "" : prefix + "/") + ".detcore-parts/"),
      logger_(std::move(logger)) {}

std::string GcsParts::folder_of(const std::string &upload) const {
  if (upload.empty() || upload.find('/') != std::string::npos)
    throw Error(Code::invalid, "naming an upload '" + upload + "': there is none of that name");
  return folder_ + upload + "/";
}

std::string GcsParts::begin() { return make_uuid(); }

StoredPart GcsParts::put(const std::string &key, const std::string &upload, int number,
                         const std::shared_ptr<ByteRange> &bytes) {
  const std::string name =
      folder_of(upload) + std::string(part_name) + padded(static_cast<size_t>(number));
  return stored_part(number, objects_->upload(name, bytes, {{key_mark, key}}, false));
}

std::vector<StoredPart> GcsParts::list(const std::string &key, const std::string &upload) {
  const std::string folder = folder_of(upload);
  std::vector<StoredPart> parts;
  objects_->list(folder, [&](const GcsObject &object) {
    const auto number = number_of_part(std::string_view(object.key).substr(folder.size()));
    const auto whose = object.metadata.find(key_mark);
    if (number && whose != object.metadata.end() && whose->second == key)
      parts.push_back(stored_part(*number, object));
  });
  return parts;
}

void GcsParts::complete(const std::string &key, const std::string &upload,
                        const std::vector<StoredPart> &parts) {
  const std::string folder = folder_of(upload);
  std::vector<GcsObject> row;
  for (const StoredPart &part : parts)
    row.push_back(object_of(
        part, folder + std::string(part_name) + padded(static_cast<size_t>(part.number))));
  // The answer to an earlier call may have been lost.
  if (const auto found = objects_->find(key); !found || !found->is_made_of(row))
    compose(key, upload, std::move(row));
  try {
    remove_rest(upload);
  } catch (const Error &error) {
    // The object is there; what is left of its parts goes with those of uploads that were given up.
    logger_->warning(error.what());
  }
}

// As a tree: groups are put together to groups until there are few enough for the object itself.
void GcsParts::compose(const std::string &key, const std::string &upload,
                       std::vector<GcsObject> row) {
  if (row.empty()) {
    objects_->upload(key, std::make_shared<TextRange>("nothing", ""), {}, false);
    return;
  }
  const std::string folder = folder_of(upload);
  for (int level = 1; row.size() > most_sources; ++level) {
    std::vector<GcsObject> groups;
    for (size_t begin = 0; begin < row.size(); begin += most_sources) {
      const size_t end = std::min(row.size(), begin + most_sources);
      groups.push_back(
          objects_->compose(folder + "group-" + std::to_string(level) + "-" + padded(groups.size()),
                            {row.begin() + static_cast<std::ptrdiff_t>(begin),
                             row.begin() + static_cast<std::ptrdiff_t>(end)},
                            {{key_mark, key}}));
    }
    row = std::move(groups);
  }
  objects_->compose(key, row, {});
}

void GcsParts::remove_rest(const std::string &upload) {
  std::vector<std::string> keys;
  objects_->list(folder_of(upload), [&](const GcsObject &object) { keys.push_back(object.key); });
  objects_->remove(keys);
}

void GcsParts::abort(const std::string &upload) { remove_rest(upload); }

std::vector<PendingUpload> GcsParts::list_uploads(const std::string &prefix) {
  std::vector<PendingUpload> uploads;
  objects_->list_folders(folder_, [&](const std::string &upload) {
    const auto first = objects_->first_of(folder_of(upload));
    if (!first) return;
    const auto key = first->metadata.find(key_mark);
    if (key != first->metadata.end() && key->second.starts_with(prefix))
      uploads.push_back({key->second, upload, first->created_ms});
  });
  return uploads;
}

}  // namespace det::cloud
