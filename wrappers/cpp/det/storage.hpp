// Checkpoints in storage, without a run.
#pragma once

#include <det/storage.h>
#include <det/checkpoint_options.hpp>
#include <det/detail/callbacks.hpp>
#include <det/detail/handle.hpp>
#include <det/error.hpp>
#include <det/json.hpp>

#include <filesystem>
#include <string>

namespace det {
inline namespace v1 {

// The master gets no report about these calls.
class Storage {
 public:
  Storage() noexcept = default;
  explicit Storage(det_storage *owned) noexcept : storage_(owned) {}
  // A directory, a URI or a `checkpoint_storage` object in JSON.
  [[nodiscard]] static Storage open(Text location, OnFailure on = {}) {
    det_storage *storage = nullptr;
    detail::call(on, det_storage_open, location.c_str(), &storage);
    return Storage(storage);
  }

  // The configuration that opens it again, without credentials.
  [[nodiscard]] Json config(OnFailure on = {}) const {
    return detail::answer(on, det_storage_get_config, storage_.get());
  }
  // Stores a directory and returns the id. Without metadata the files are stored unchanged.
  std::string upload(const std::filesystem::path &directory, const Json &metadata = {},
                     const CheckpointOptions &options = {}, OnFailure on = {}) const {
    detail::CheckpointCallbacks callbacks{options.selector, options.progress};
    det_checkpoint_options c_options = detail::to_c(options);
    detail::set_callbacks(c_options, callbacks);
    char *id = nullptr;
    detail::call(on, det_storage_upload, storage_.get(), directory.c_str(), metadata.capi(),
                 &c_options, &id);
    return detail::taken(id);
  }
  void download(Text storage_id, const std::filesystem::path &directory,
                const DownloadOptions &options = {}, OnFailure on = {}) const {
    with(options, [&](const det_download_options &given) {
      detail::call(on, det_storage_download, storage_.get(), storage_id.c_str(), directory.c_str(),
                   &given);
    });
  }
  // Its files: {"resources": {path: bytes}, "size"}.
  [[nodiscard]] Json list(Text storage_id, OnFailure on = {}) const {
    return detail::answer(on, det_storage_list, storage_.get(), storage_id.c_str());
  }
  void verify(Text storage_id, const DownloadOptions &options = {}, OnFailure on = {}) const {
    with(options, [&](const det_download_options &given) {
      detail::call(on, det_storage_verify, storage_.get(), storage_id.c_str(), &given);
    });
  }
  void copy(Text storage_id, const Storage &to, const DownloadOptions &options = {},
            OnFailure on = {}) const {
    with(options, [&](const det_download_options &given) {
      detail::call(on, det_storage_copy, storage_.get(), storage_id.c_str(), to.capi(), &given);
    });
  }
  void delete_checkpoint(Text storage_id, OnFailure on = {}) const {
    detail::call(on, det_storage_delete, storage_.get(), storage_id.c_str());
  }

  [[nodiscard]] det_storage *capi() const noexcept { return storage_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return storage_ != nullptr; }

 private:
  template <class Body>
  static void with(const DownloadOptions &options, Body body) {
    detail::CheckpointCallbacks callbacks{options.selector, options.progress};
    det_download_options c_options = detail::to_c(options);
    detail::set_callbacks(c_options, callbacks);
    body(c_options);
  }

  detail::Handle<det_storage, det_storage_free> storage_;
};

}  // namespace v1
}  // namespace det
