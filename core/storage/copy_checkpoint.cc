#include "core/storage/copy_checkpoint.h"

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/storage/tree.h"

namespace det::storage {

namespace fs = std::filesystem;

std::string store_directory(Storage &storage, const fs::path &directory, const Selector &selector,
                            const std::string &metadata, Progress *progress) {
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
  writer->add(directory, paths, progress);
  if (!metadata.empty()) writer->put(metadata_name, metadata);
  writer->commit({}, progress);
  writer->announced();
  return writer->id();
}

void verify_checkpoint(Storage &storage, const std::string &id, Progress *progress) {
  const HadManifest refuse = [&id]() -> bool {
    throw Error(Code::unsupported, "verifying checkpoint " + id +
                                       ": it has no manifest: another program stored it, and its "
                                       "files can only be compared with those that it was made of");
  };
  storage.restore(id, ReadOptions{.had_manifest = refuse, .progress = progress});
}

void copy_checkpoint(Storage &from, const std::string &id, Storage &to, Progress *progress) {
  if (from.copy_to(to, id, progress)) return;
  const std::unique_ptr<CheckpointReader> reader =
      from.restore(id, ReadOptions{.progress = progress});
  const std::unique_ptr<CheckpointWriter> writer = to.begin(id);
  writer->add(reader->path(), std::nullopt, progress);
  writer->commit({}, progress);
  writer->announced();
}

}  // namespace det::storage
