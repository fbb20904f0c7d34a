#include "library_storage.h"

namespace det::cli {

namespace {

template <class Options>
Options followed(Options options, ProgressBar &progress) {
  options.progress = ProgressBar::tell;
  options.user_data = &progress;
  return options;
}

}  // namespace

LibraryStorage::LibraryStorage(const std::string &location) {
  call_library([&](det_error *error) {
    det_storage *handle = nullptr;
    const det_status status = det_storage_open(location.c_str(), &handle, error);
    handle_.reset(handle);
    return status;
  });
}

std::string LibraryStorage::upload(const std::string &directory, const std::string &metadata,
                                   ProgressBar &progress) {
  const auto options = followed<det_checkpoint_options>(DET_CHECKPOINT_OPTIONS_INIT, progress);
  std::string id;
  call_library([&](det_error *error) {
    char *text = nullptr;
    const det_status status =
        det_storage_upload(handle_.get(), directory.c_str(),
                           metadata.empty() ? nullptr : metadata.c_str(), &options, &text, error);
    const std::unique_ptr<char, void (*)(void *)> owned(text, det_free);
    if (text != nullptr) id = text;
    return status;
  });
  return id;
}

void LibraryStorage::download(const std::string &id, const std::string &directory,
                              ProgressBar &progress) {
  const auto options = followed<det_download_options>(DET_DOWNLOAD_OPTIONS_INIT, progress);
  call_library([&](det_error *error) {
    return det_storage_download(handle_.get(), id.c_str(), directory.c_str(), &options, error);
  });
}

Json LibraryStorage::list(const std::string &id) {
  return ask_library([&](char **out, det_error *error) {
    return det_storage_list(handle_.get(), id.c_str(), out, error);
  });
}

void LibraryStorage::verify(const std::string &id, ProgressBar &progress) {
  const auto options = followed<det_download_options>(DET_DOWNLOAD_OPTIONS_INIT, progress);
  call_library([&](det_error *error) {
    return det_storage_verify(handle_.get(), id.c_str(), &options, error);
  });
}

void LibraryStorage::copy(const std::string &id, LibraryStorage &to, ProgressBar &progress) {
  const auto options = followed<det_download_options>(DET_DOWNLOAD_OPTIONS_INIT, progress);
  call_library([&](det_error *error) {
    return det_storage_copy(handle_.get(), id.c_str(), to.handle_.get(), &options, error);
  });
}

void LibraryStorage::remove(const std::string &id) {
  call_library(
      [&](det_error *error) { return det_storage_delete(handle_.get(), id.c_str(), error); });
}

}  // namespace det::cli
