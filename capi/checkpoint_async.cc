// Saves that go on in the background, and the tickets that follow them.
#include <det/checkpoint.h>

#include <cstring>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/transfer_options.h"

namespace {

static_assert(static_cast<int>(det::context::SaveState::cancelled) == DET_TICKET_CANCELLED);

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

void det_save_limits_init(det_save_limits *limits) noexcept {
  if (limits != nullptr) *limits = DET_SAVE_LIMITS_INIT;
}

det_status det_checkpoint_limit_saves(det_checkpoint_context *checkpoint,
                                      const det_save_limits *limits, det_error *err) noexcept {
  return guarded(err, [&] {
    deref(checkpoint, "checkpoint").core->checkpoint().background().limit(limits_from(limits));
  });
}

void det_staging_options_init(det_staging_options *options) noexcept {
  if (options != nullptr) *options = DET_STAGING_OPTIONS_INIT;
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
      const Followed followed = follow(given);
      auto ticket = std::make_unique<det_checkpoint_ticket>();
      ticket->core = core;
      ticket->impl = core->checkpoint().saver().upload_async(
          text_or_empty(directory), metadata_from(metadata_json, given), given.shard != 0,
          to_core(given.selector, given.user_data));
      return ticket.release();
    });
  });
}

det_status det_checkpoint_writer_commit_async(det_checkpoint_writer *writer,
                                              det_checkpoint_ticket **out,
                                              det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const Followed followed = follow(deref(writer, "writer"));
      auto ticket = std::make_unique<det_checkpoint_ticket>();
      ticket->core = writer->core;
      ticket->impl = writer->impl->commit_async();
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
