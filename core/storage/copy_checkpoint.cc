#include "core/storage/copy_checkpoint.h"

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/storage/tree.h"

namespace det::storage {

namespace fs = std::filesystem;

std::string store_directory(Storage &storage, const fs::path &directory, const Selector &selector,
                            const std::string &metadata) {
  if (!fs::is_directory(directory))
    throw Error(fs::exists(directory) ? Code::invalid : Code::not_found,
                "storing a checkpoint: '" + directory.string() + "' is not a directory");
  std::optional<std::vector<std::string>> paths;
  if (selector) {
    paths.emplace();
    for (const auto &[path, size] : list_directory(directory))
      if (selector(path)) paths->push_back(path);
  }
  const std::unique_ptr<CheckpointWriter> writer = storage.begin(make_uuid());
  writer->add(directory, paths);
  if (!metadata.empty()) writer->put(metadata_name, metadata);
  writer->commit();
  writer->announced();
  return writer->id();
}

void verify_checkpoint(Storage &storage, const std::string &id) {
  storage.restore(id, nullptr, true, [&id]() -> bool {
    throw Error(Code::unsupported, "verifying checkpoint " + id +
                                       ": it has no manifest: another program stored it, and its "
                                       "files can only be compared with those that it was made of");
  });
}

void copy_checkpoint(Storage &from, const std::string &id, Storage &to) {
  if (from.copy_to(to, id)) return;
  const std::unique_ptr<CheckpointReader> reader = from.restore(id, nullptr, true);
  const std::unique_ptr<CheckpointWriter> writer = to.begin(id);
  writer->add(reader->path(), std::nullopt);
  writer->commit();
  writer->announced();
}

}  // namespace det::storage
