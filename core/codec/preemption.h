// Being asked to stop.
#pragma once

#include "core/codec/call.h"

namespace det::codec {

// The master holds the request for up to `timeout_seconds`. It answers false at once for an
// allocation that is gone, so a loop needs a floor on its period; and with a timeout of 0 it may
// miss a signal, so only the first poll may have one.
struct PollPreemption {
  static constexpr Route route{"asking whether to stop", "GET",
                               "/api/v1/allocations/{allocation}/signals/preemption"};

  std::string allocation_id = {};
  int64_t timeout_seconds = 0;

  void fields(Fields &f) {
    f.in_path("allocation", allocation_id);
    f.in_query("timeout_seconds", timeout_seconds);
  }

  struct Response {
    bool preempt = false;

    void fields(Fields &f) { f("preempt", preempt); }
  };
};

// Only for what is pending: an exit after any other acknowledgement starts the trial again.
struct AcknowledgePreemption {
  static constexpr Route route{"acknowledging the request to stop", "POST",
                               "/api/v1/allocations/{allocation}/signals/ack_preemption"};

  std::string allocation_id = {};

  void fields(Fields &f) { f.in_path("allocation", allocation_id); }

  using Response = Nothing;
};

// A scheduler told the process to stop: lets the master know. Masters before 0.38 take it under
// Slurm only.
struct AnnouncePreemption {
  static constexpr Route route{"passing on the request to stop", "POST",
                               "/api/v1/allocations/{allocation}/signals/pending_preemption"};

  std::string allocation_id = {};

  void fields(Fields &f) { f.in_path("allocation", allocation_id); }

  using Response = Nothing;
};

}  // namespace det::codec
