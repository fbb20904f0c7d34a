// The C API of det/storage.h with C++ values. A failure is thrown with its exit code.
#pragma once

#include <det/storage.h>

#include <memory>
#include <string>

#include "library_client.h"
#include "progress_bar.h"

namespace det::cli {

class LibraryStorage {
 public:
  // A directory, a URI, or a `checkpoint_storage` object in JSON.
  explicit LibraryStorage(const std::string &location);
  explicit LibraryStorage(det_storage *owned) : handle_(owned, det_storage_free) {}

  std::string upload(const std::string &directory, const std::string &metadata,
                     ProgressBar &progress);  // gives the id; metadata may be empty
  void download(const std::string &id, const std::string &directory, ProgressBar &progress);
  Json list(const std::string &id);
  void verify(const std::string &id, ProgressBar &progress);
  void copy(const std::string &id, LibraryStorage &to, ProgressBar &progress);
  void remove(const std::string &id);

 private:
  std::unique_ptr<det_storage, void (*)(det_storage *)> handle_{nullptr, det_storage_free};
};

}  // namespace det::cli
