// Saves that continue in the background.
#pragma once

#include <det/checkpoint.h>
#include <det/checkpoint_options.hpp>
#include <det/detail/handle.hpp>
#include <det/error.hpp>

#include <string>

namespace det {
inline namespace v1 {

enum class TicketState : det_ticket_state {
  waiting = DET_TICKET_WAITING,
  saving = DET_TICKET_SAVING,
  saved = DET_TICKET_SAVED,
  failed = DET_TICKET_FAILED,
  cancelled = DET_TICKET_CANCELLED,
};

// The limits of asynchronous saves.
struct SaveLimits {
  int64_t limit_bytes = 0;  // Of all saves together. 0: no limit.
  int32_t in_flight = 0;    // The number of saves. 0: 2.
  bool refuse_when_full = false;
};

// Follows a save. The save continues without it.
class Ticket {
 public:
  Ticket() noexcept = default;
  explicit Ticket(det_checkpoint_ticket *owned) noexcept : ticket_(owned) {}

  // The storage id that the checkpoint has or will have.
  [[nodiscard]] std::string id() const {
    return ticket_ != nullptr ? det_checkpoint_ticket_id(ticket_.get()) : "";
  }

  // As this rank knows it.
  [[nodiscard]] TicketState state(OnFailure on = {}) const {
    det_ticket_state state = DET_TICKET_FAILED;
    detail::call(on, det_checkpoint_ticket_poll, ticket_.get(), &state, nullptr);
    return static_cast<TicketState>(state);
  }
  [[nodiscard]] Progress progress(OnFailure on = {}) const {
    det_progress now{};
    now.struct_size = sizeof now;
    detail::call(on, det_checkpoint_ticket_poll, ticket_.get(), nullptr, &now);
    return {now.bytes, now.total_bytes, now.files, now.total_files};
  }

  // Waits until it is saved, by default without limit. Fails as the save did, or with
  // Code::timeout. If all ranks save, they call it in step.
  void wait(Timeout timeout = {}, OnFailure on = {}) const {
    detail::call(on, det_checkpoint_ticket_wait, ticket_.get(), timeout.capi());
  }
  // Deletes all of it. Fails with Code::state if it was saved before. If all ranks save, they call
  // it in step.
  void cancel(OnFailure on = {}) const {
    detail::call(on, det_checkpoint_ticket_cancel, ticket_.get());
  }

  [[nodiscard]] det_checkpoint_ticket *capi() const noexcept { return ticket_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return ticket_ != nullptr; }

 private:
  detail::Handle<det_checkpoint_ticket, det_checkpoint_ticket_free> ticket_;
};

}  // namespace v1
}  // namespace det
