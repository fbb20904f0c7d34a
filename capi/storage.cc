#include <det/storage.h>

#include "capi/guard.h"
#include "capi/storage_handle.h"
#include "capi/transfer_options.h"
#include "core/base/json.h"
#include "core/storage/storage.h"

namespace {

std::unique_ptr<det::storage::Storage> open_storage(const std::string &location) {
  const auto logger = std::make_shared<det::Logger>();
  if (location.starts_with('{'))
    return det::storage::make_storage(det::parse_json_object(location, "location"), std::nullopt,
                                      logger);
  return det::storage::make_storage_from_uri(location, logger);
}

det::storage::Storage &storage_of(det_storage *storage) { return *deref(storage, "storage").impl; }

}  // namespace

det_status det_storage_open(const char *location, det_storage **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] { return new det_storage{open_storage(text(location, "location"))}; });
  });
}

void det_storage_free(det_storage *storage) noexcept { delete storage; }

det_status det_storage_get_config(det_storage *storage, char **out_json, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json",
         [&] { return copy_text(det::to_wire(storage_of(storage).config())); });
  });
}

det_status det_storage_upload(det_storage *storage, const char *directory,
                              const char *metadata_json, const det_checkpoint_options *options,
                              char **out_storage_id, det_error *err) noexcept {
  return guarded(err, [&] {
    char *&id = cleared(out_storage_id, "out_storage_id");
    const det_checkpoint_options given = read(options);
    if (given.shard != 0)
      throw det::Error(det::Code::invalid,
                       "storing a checkpoint: there are no ranks here; leave options.shard at 0");
    if (metadata_json != nullptr) det::parse_json_object(metadata_json, "metadata_json");
    Followed followed = follow(given);
    RoomForId room;
    id = room.take(det::storage::save_directory(storage_of(storage), text(directory, "directory"),
                                                to_core(given.selector, given.user_data),
                                                text_or_empty(metadata_json), followed.progress()));
  });
}

det_status det_storage_download(det_storage *storage, const char *storage_id, const char *directory,
                                const det_download_options *options, det_error *err) noexcept {
  return guarded(err, [&] {
    const det_download_options given = read(options);
    Followed followed = follow(given);
    storage_of(storage).download(text(storage_id, "storage_id"), text(directory, "directory"),
                                 {to_core(given.selector, given.user_data),
                                  given.skip_verification == 0, nullptr, followed.progress()});
  });
}

det_status det_storage_list(det_storage *storage, const char *storage_id, char **out_json,
                            det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json", [&] {
      const det::storage::Resources resources =
          storage_of(storage).list(text(storage_id, "storage_id"));
      uint64_t size = 0;
      for (const auto &[path, bytes] : resources) size += bytes;
      return copy_text(det::to_wire(det::Json{{"resources", resources}, {"size", size}}));
    });
  });
}

det_status det_storage_verify(det_storage *storage, const char *storage_id,
                              const det_download_options *options, det_error *err) noexcept {
  return guarded(err, [&] {
    Followed followed = follow(read(options));
    det::storage::verify_checkpoint(storage_of(storage), text(storage_id, "storage_id"),
                                    followed.progress());
  });
}

det_status det_storage_copy(det_storage *storage, const char *storage_id, det_storage *to,
                            const det_download_options *options, det_error *err) noexcept {
  return guarded(err, [&] {
    Followed followed = follow(read(options));
    det::storage::copy_checkpoint(storage_of(storage), text(storage_id, "storage_id"),
                                  *deref(to, "to").impl, followed.progress());
  });
}

det_status det_storage_delete(det_storage *storage, const char *storage_id,
                              det_error *err) noexcept {
  return guarded(err, [&] {
    const std::string id = text(storage_id, "storage_id");
    det::storage::Storage &impl = storage_of(storage);
    impl.withdraw(id);
    impl.remove(id);
    impl.settle(id);
    impl.reclaim();
  });
}
