#include <det/checkpoint.h>

#include <cstring>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/transfer_options.h"
#include "core/context/checkpoint/checkpoint_restorer.h"
#include "core/context/checkpoint/checkpoint_saver.h"

struct det_checkpoint_entries {
  std::vector<det::engine::CheckpointEntry> list;
};

namespace {

const det::engine::CheckpointEntry *entry_at(const det_checkpoint_entries *entries,
                                             size_t index) noexcept {
  return entries != nullptr && index < entries->list.size() ? &entries->list[index] : nullptr;
}

static_assert(static_cast<int>(det::context::SaveState::cancelled) == DET_TICKET_CANCELLED);
static_assert(static_cast<int>(det::context::DownloadMode::no_shared) ==
              DET_DOWNLOAD_MODE_NO_SHARED);

det::context::DownloadRequest request_from(const det_download_options &given,
                                           det::storage::Progress *progress) {
  if (given.mode < DET_DOWNLOAD_MODE_LOCAL_WORKERS_SHARE ||
      given.mode > DET_DOWNLOAD_MODE_NO_SHARED)
    throw det::Error(det::Code::invalid, "reading a checkpoint: there is no download mode " +
                                             std::to_string(given.mode));
  return {static_cast<det::context::DownloadMode>(given.mode),
          to_core(given.selector, given.user_data), given.skip_verification == 0, progress};
}

det::context::SaveLimits limits_from(const det_save_limits *limits) {
  const auto given = read_options<det_save_limits>(limits, DET_SAVE_LIMITS_INIT, "limits");
  if (given.limit_bytes < 0 || given.in_flight < 0)
    throw det::Error(det::Code::invalid, "limiting saves to " + std::to_string(given.in_flight) +
                                             " in flight and " + std::to_string(given.limit_bytes) +
                                             " bytes: neither may be negative");
  det::context::SaveLimits saves;
  if (given.in_flight != 0) saves.in_flight = static_cast<size_t>(given.in_flight);
  if (given.limit_bytes != 0) saves.bytes = static_cast<uint64_t>(given.limit_bytes);
  saves.waits = given.refuse_when_full == 0;
  return saves;
}

}  // namespace

det_status det_checkpoint_upload(det_checkpoint_context *checkpoint, const char *directory,
                                 const char *metadata_json, const det_checkpoint_options *options,
                                 char **out_storage_id, det_error *err) noexcept {
  return guarded(err, [&] {
    char *&id = cleared(out_storage_id, "out_storage_id");
    const det_checkpoint_options given = read(options);
    Followed followed = follow(given);
    RoomForId room;
    id = room.take(deref(checkpoint, "checkpoint")
                       .core->checkpoint()
                       .saver()
                       .upload(text_or_empty(directory), metadata_from(metadata_json, given),
                               given.shard != 0, to_core(given.selector, given.user_data),
                               followed.progress()));
  });
}

det_status det_checkpoint_writer_begin(det_checkpoint_context *checkpoint,
                                       const char *metadata_json,
                                       const det_checkpoint_options *options,
                                       det_checkpoint_writer **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const std::shared_ptr<det::context::Core> &core = deref(checkpoint, "checkpoint").core;
      const det_checkpoint_options given = read(options);
      return new det_checkpoint_writer{
          core, given.progress, given.user_data,
          core->checkpoint().saver().begin(
              metadata_json != nullptr ? std::optional<std::string>(metadata_json) : std::nullopt,
              given.shard != 0)};
    });
  });
}

const char *det_checkpoint_writer_path(const det_checkpoint_writer *writer) noexcept {
  return writer != nullptr ? writer->impl->path().c_str() : nullptr;
}

const char *det_checkpoint_writer_id(const det_checkpoint_writer *writer) noexcept {
  return writer != nullptr ? writer->impl->id().c_str() : nullptr;
}

det_status det_checkpoint_writer_set_metadata(det_checkpoint_writer *writer,
                                              const char *metadata_json, det_error *err) noexcept {
  return guarded(err, [&] {
    deref(writer, "writer").impl->set_metadata(text(metadata_json, "metadata_json"));
  });
}

det_status det_checkpoint_writer_commit(det_checkpoint_writer *writer, det_error *err) noexcept {
  return guarded(err, [&] {
    Followed followed = follow(deref(writer, "writer"));
    once([&] { writer->impl->commit(followed.progress()); });
  });
}

det_status det_checkpoint_writer_abort(det_checkpoint_writer *writer, det_error *err) noexcept {
  return guarded(err, [&] { deref(writer, "writer").impl->abort(); });
}

void det_checkpoint_writer_free(det_checkpoint_writer *writer) noexcept { delete writer; }

det_status det_checkpoint_download(det_checkpoint_context *checkpoint, const char *storage_id,
                                   const char *directory, const det_download_options *options,
                                   det_error *err) noexcept {
  return guarded(err, [&] {
    det::context::Core &core = *deref(checkpoint, "checkpoint").core;
    const det_download_options given = read(options);
    Followed followed = follow(given);
    core.checkpoint().restorer().download(text(storage_id, "storage_id"),
                                          text(directory, "directory"),
                                          request_from(given, followed.progress()));
  });
}

det_status det_checkpoint_reader_open(det_checkpoint_context *checkpoint, const char *storage_id,
                                      const det_download_options *options,
                                      det_checkpoint_reader **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const std::shared_ptr<det::context::Core> &core = deref(checkpoint, "checkpoint").core;
      const det_download_options given = read(options);
      Followed followed = follow(given);
      return new det_checkpoint_reader{
          core, core->checkpoint().restorer().restore(text(storage_id, "storage_id"),
                                                      request_from(given, followed.progress()))};
    });
  });
}

const char *det_checkpoint_reader_path(const det_checkpoint_reader *reader) noexcept {
  return reader != nullptr ? reader->impl->path().c_str() : nullptr;
}

void det_checkpoint_reader_free(det_checkpoint_reader *reader) noexcept { delete reader; }

det_status det_checkpoint_delete(det_checkpoint_context *checkpoint, const char *storage_id,
                                 det_error *err) noexcept {
  return guarded(err, [&] {
    deref(checkpoint, "checkpoint").core->checkpoint().remove(text(storage_id, "storage_id"));
  });
}

det_status det_checkpoint_list(det_checkpoint_context *checkpoint, det_checkpoint_entries **out,
                               det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      return new det_checkpoint_entries{
          deref(checkpoint, "checkpoint").core->checkpoint().catalog().list()};
    });
  });
}

size_t det_checkpoint_entries_count(const det_checkpoint_entries *entries) noexcept {
  return entries != nullptr ? entries->list.size() : 0;
}

const char *det_checkpoint_entries_id(const det_checkpoint_entries *entries,
                                      size_t index) noexcept {
  const auto *entry = entry_at(entries, index);
  return entry != nullptr ? entry->id.c_str() : nullptr;
}

int64_t det_checkpoint_entries_steps_completed(const det_checkpoint_entries *entries,
                                               size_t index) noexcept {
  const auto *entry = entry_at(entries, index);
  return entry != nullptr ? entry->steps : -1;
}

int64_t det_checkpoint_entries_time_us(const det_checkpoint_entries *entries,
                                       size_t index) noexcept {
  const auto *entry = entry_at(entries, index);
  return entry != nullptr ? entry->time_us : 0;
}

int64_t det_checkpoint_entries_size(const det_checkpoint_entries *entries, size_t index) noexcept {
  const auto *entry = entry_at(entries, index);
  return entry != nullptr ? entry->size : -1;
}

void det_checkpoint_entries_free(det_checkpoint_entries *entries) noexcept { delete entries; }

det_status det_checkpoint_get_metadata(det_checkpoint_context *checkpoint, const char *storage_id,
                                       char **out_json, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json", [&] {
      return copy_text(det::to_wire(deref(checkpoint, "checkpoint")
                                        .core->checkpoint()
                                        .catalog()
                                        .metadata(text(storage_id, "storage_id"))));
    });
  });
}

// Saves that go on in the background, and the tickets that follow them.

det_status det_checkpoint_limit_saves(det_checkpoint_context *checkpoint,
                                      const det_save_limits *limits, det_error *err) noexcept {
  return guarded(err, [&] {
    deref(checkpoint, "checkpoint").core->checkpoint().background().limit(limits_from(limits));
  });
}

det_status det_checkpoint_stage_saves(det_checkpoint_context *checkpoint,
                                      const det_staging_options *options, det_error *err) noexcept {
  return guarded(err, [&] {
    det::context::Core &core = *deref(checkpoint, "checkpoint").core;
    const auto given =
        read_options<det_staging_options>(options, DET_STAGING_OPTIONS_INIT, "options");
    const std::string directory = text_or_empty(given.directory);
    if (!directory.empty() && given.limit_bytes < 1)
      throw det::Error(det::Code::invalid, "staging saves in '" + directory + "': limit_bytes is " +
                                               std::to_string(given.limit_bytes) +
                                               "; say how much of the room there they may take");
    core.checkpoint().background().stage_in(directory, static_cast<uint64_t>(given.limit_bytes));
  });
}

det_status det_checkpoint_upload_async(det_checkpoint_context *checkpoint, const char *directory,
                                       const char *metadata_json,
                                       const det_checkpoint_options *options,
                                       det_checkpoint_ticket **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const std::shared_ptr<det::context::Core> &core = deref(checkpoint, "checkpoint").core;
      const det_checkpoint_options given = read(options);
      Followed followed = follow(given);
      auto ticket = std::make_unique<det_checkpoint_ticket>();
      ticket->core = core;
      ticket->impl = core->checkpoint().saver().upload_async(
          text_or_empty(directory), metadata_from(metadata_json, given), given.shard != 0,
          to_core(given.selector, given.user_data), followed.progress());
      return ticket.release();
    });
  });
}

det_status det_checkpoint_writer_commit_async(det_checkpoint_writer *writer,
                                              det_checkpoint_ticket **out,
                                              det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      Followed followed = follow(deref(writer, "writer"));
      auto ticket = std::make_unique<det_checkpoint_ticket>();
      ticket->core = writer->core;
      ticket->impl = writer->impl->commit_async(followed.progress());
      return ticket.release();
    });
  });
}

const char *det_checkpoint_ticket_id(const det_checkpoint_ticket *ticket) noexcept {
  return ticket != nullptr ? ticket->impl->id().c_str() : nullptr;
}

det_status det_checkpoint_ticket_poll(const det_checkpoint_ticket *ticket,
                                      det_ticket_state *out_state, det_progress *out_progress,
                                      det_error *err) noexcept {
  return guarded(err, [&] {
    deref(ticket, "ticket").core->check_process();
    if (out_state != nullptr) *out_state = static_cast<det_ticket_state>(ticket->impl->state());
    if (out_progress == nullptr) return;
    const det_progress now = to_c(ticket->impl->progress());
    check_struct_size<det_progress>(out_progress->struct_size, "out_progress");
    const size_t size = std::min(out_progress->struct_size, sizeof now);
    std::memcpy(reinterpret_cast<char *>(out_progress) + sizeof(size_t),
                reinterpret_cast<const char *>(&now) + sizeof(size_t), size - sizeof(size_t));
  });
}

det_status det_checkpoint_ticket_wait(det_checkpoint_ticket *ticket, det_timeout timeout_ms,
                                      det_error *err) noexcept {
  return guarded(err, [&] {
    // Kept while somebody waits at it, also by a child that is forked meanwhile.
    const det_checkpoint_ticket kept = deref(ticket, "ticket");
    const auto limit =
        timeout_ms == DET_TIMEOUT_DEFAULT ? std::nullopt : limit_from(timeout_ms, {}, "timeout_ms");
    if (!kept.core->checkpoint().background().wait(*kept.impl, limit))
      throw det::Error(det::Code::timeout,
                       "waiting for checkpoint " + kept.impl->id() + ": it is not saved yet");
  });
}

det_status det_checkpoint_ticket_cancel(det_checkpoint_ticket *ticket, det_error *err) noexcept {
  return guarded(err, [&] {
    const det_checkpoint_ticket kept = deref(ticket, "ticket");
    kept.core->checkpoint().background().cancel(*kept.impl);
  });
}

void det_checkpoint_ticket_free(det_checkpoint_ticket *ticket) noexcept { delete ticket; }
