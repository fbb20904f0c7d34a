#include "core/tensors/sharding.h"

#include <cstdio>
#include <set>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/storage/tree.h"

namespace det::tensors {

namespace {

constexpr const char *sharding_key = "DCP_SHARDING_INFO";
constexpr const char *version_key = "DCP_VERSION";
constexpr const char *offset_key = "saved_offsets";
constexpr const char *whole_key = "global_shape";  // ours: the others look for the farthest element

// Of the index.
constexpr const char *whole_tensors_key = "weight_map";
constexpr const char *split_tensors_key = "split_tensors";  // ours

Json parse(const std::string &text, const std::string &described) try {
  return parse_json_object(text, described);
} catch (const Error &e) {
  throw Error(Code::corrupt, e.what());
}

}  // namespace

std::string sharded_name(const std::string &name, size_t number, size_t count) {
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, "-%05zu-of-%05zu", number + 1, count);
  return name.substr(0, name.size() - std::string_view(file_ending).size()) + numbers + file_ending;
}

void add_sharding(FileMetadata &metadata, const std::vector<const TensorPart *> &parts) {
  Json::object_t tensors;  // appended to directly: its own way looks through all keys each time
  for (const TensorPart *part : parts)
    tensors.push_back(
        {part->name, Json{{offset_key, part->region.offset}, {whole_key, part->whole}}});
  metadata[sharding_key] = to_wire(Json(std::move(tensors)));
  metadata[version_key] = "1.0";
}

FileMetadata without_sharding(FileMetadata metadata) {
  metadata.erase(sharding_key);
  metadata.erase(version_key);
  return metadata;
}

std::vector<TensorPart> parts_of(const Header &header, const std::string &described) try {
  std::vector<TensorPart> parts;
  const auto told = header.metadata.find(sharding_key);
  std::map<std::string, Json> tensors;
  if (told != header.metadata.end()) {
    Json object = parse(told->second, described);
    for (auto &[name, value] : object.get_ref<Json::object_t &>())
      tensors.emplace(name, std::move(value));
  }
  for (const StoredTensor &stored : header.tensors) {
    TensorPart part{stored.name, stored.dtype, Region::whole(stored.shape), stored.shape};
    if (const auto found = tensors.find(stored.name); found != tensors.end()) {
      part.region.offset = found->second.at(offset_key).get<Shape>();
      part.whole = found->second.value(whole_key, Shape());
      Shape &offset = part.region.offset;
      uint64_t end = 0;
      bool fits = offset.size() == stored.shape.size();
      for (size_t d = 0; fits && d < offset.size(); ++d)
        fits = !__builtin_add_overflow(offset[d], stored.shape[d], &end);
      if (!fits || (!part.whole.empty() && !lies_in(part.region, part.whole)))
        throw_damaged(described, "the part of tensor " + quoted_name(part.name) +
                                     " does not lie in the tensor");
      if (bits_of(part.dtype) < 8 && !part.whole.empty() && !part.is_whole())
        throw_damaged(described, "tensor " + quoted_name(part.name) +
                                     " is split, though its elements are less than a byte");
    }
    parts.push_back(std::move(part));
  }
  return parts;
} catch (const Json::exception &e) {
  throw_damaged(described, std::string("its ") + sharding_key + " is none: " + e.what());
}

std::string format_index(const std::vector<ShardFile> &files) {
  uint64_t size = 0;
  std::map<std::string, std::string> whole;
  std::map<std::string, std::vector<std::string>> split;
  for (const ShardFile &file : files)
    for (const TensorPart *part : file.parts) {
      size += bytes_of(part->dtype, part->region.shape).value_or(0);
      if (part->is_whole()) whole[part->name] = file.name;
      else split[part->name].push_back(file.name);
    }
  // As above.
  Json::object_t weight_map, split_tensors;
  for (auto &[name, file] : whole) weight_map.push_back({name, std::move(file)});
  for (auto &[name, of_parts] : split) split_tensors.push_back({name, Json(of_parts)});
  Json index{{"metadata", Json{{"total_size", size}}}};
  index[whole_tensors_key] = Json(std::move(weight_map));
  if (!split_tensors.empty()) index[split_tensors_key] = Json(std::move(split_tensors));
  return to_metadata_text(index);
}

std::vector<std::string> parse_index(const std::string &text, const std::string &described) try {
  const Json index = parse(text, described);
  std::set<std::string> files;
  for (const auto &[name, file] : index.at(whole_tensors_key).get_ref<const Json::object_t &>())
    files.insert(file.get<std::string>());
  if (index.contains(split_tensors_key))
    for (const auto &[name, of_parts] :
         index.at(split_tensors_key).get_ref<const Json::object_t &>())
      for (const Json &file : of_parts.get_ref<const Json::array_t &>())
        files.insert(file.get<std::string>());
  for (const std::string &file : files)
    if (!storage::is_plain_path(file))
      throw_damaged(described, "the file " + quoted_name(file) + " does not lie beside it");
  return {files.begin(), files.end()};
} catch (const Json::exception &e) {
  throw_damaged(described, std::string("it is no index of tensors: ") + e.what());
}

}  // namespace det::tensors
