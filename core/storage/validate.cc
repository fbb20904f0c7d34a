#include <fcntl.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/uuid.h"
#include "core/storage/storage.h"

namespace det::storage {

namespace {

[[noreturn]] void refuse_files() {
  throw Error(Code::unsupported,
              "keeping files beside checkpoints: this storage is a file system; "
              "its directory is where they are written");
}

}  // namespace

std::optional<std::string> Storage::read(const std::string &id, const std::string &path) {
  const auto reader = restore(
      id, [&](const std::string &one) { return one == path; }, false);
  const std::filesystem::path file = reader->path() / path;
  return std::filesystem::exists(file) ? std::optional(read_file(file)) : std::nullopt;
}

void Storage::put_file(const std::string &, const std::filesystem::path &) { refuse_files(); }

void Storage::put_new_file(const std::string &, const std::filesystem::path &) { refuse_files(); }

void Storage::remove_files(const std::string &) { refuse_files(); }

std::vector<KeptFile> Storage::list_files(const std::string &) { refuse_files(); }

void Storage::read_files(const std::string &, const std::vector<KeptRange> &) { refuse_files(); }

void require_usable(Storage &storage) try { storage.probe(); } catch (const Error &error) {
  throw Error(error.code,
              std::string("validating the checkpoint storage before training begins: ") +
                  error.what() + "; see `checkpoint_storage` of the configuration",
              error.os_errno, error.http_status);
}

void validate_storage(Storage &storage) {
  constexpr const char *name = "VALIDATE.txt";
  const std::unique_ptr<CheckpointWriter> writer = storage.begin(make_uuid());
  const std::string &id = writer->id();
  write_all(open_file(writer->path() / name, O_WRONLY | O_CREAT | O_EXCL).get(), id, name);
  writer->commit();
  try {
    const std::unique_ptr<CheckpointReader> reader =
        storage.restore(id, nullptr, true, [] { return true; });
    if (read_file(reader->path() / name) != id)
      throw Error(Code::corrupt,
                  "validating the storage: what was read differs from what was "
                  "written; check the file system");
  } catch (...) {
    writer->abort();
    throw;
  }
  writer->abort();
}

}  // namespace det::storage
