// Carries the reports of a spool to the master, in order, on a thread of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/base/log/log.h"
#include "core/base/report.h"
#include "core/journal/spool.h"

namespace det::journal {

struct ShipperOptions {
  std::chrono::milliseconds interval{50};       // between looks at the spool while records flow
  std::chrono::milliseconds idle{5000};         // without a record: sleep until the next one
  std::chrono::milliseconds retry_first{50};    // pause after the first failed delivery
  std::chrono::milliseconds retry_limit{5000};  // pauses double up to this, jittered
  size_t batch_reports = 8192;
  size_t batch_bytes = size_t{1} << 20U;
};

class Shipper {
 public:
  // Sees every report once, on the shipper's thread, after the first attempt to deliver it: an
  // outage of the master does not stop the plots. What it throws becomes a warning.
  using Observer = std::function<void(std::span<const Report>)>;

  // `spool` and `sink` must outlive the shipper.
  Shipper(Spool &spool, ReportSink &sink, std::shared_ptr<Logger> logger,
          Observer observer = nullptr, const ShipperOptions &options = {});

  // Stops without waiting for deliveries. In a forked child it leaves everything to the parent.
  ~Shipper();

  // Waits until the sink has every report up to `sequence` (Spool::last_sequence()); without a
  // timeout as long as it takes. Throws Code::timeout with the sink's last failure; that failure
  // itself where waiting is in vain (Code::full, Code::corrupt, ESTALE); Code::state when stopped
  // before, or in a forked child.
  void flush(uint64_t sequence, std::optional<std::chrono::milliseconds> timeout);

  // Closes the spool, delivers what there is within the timeout (beyond it, for 10 seconds, only a
  // delivery under way, to a sink that cannot end it; less where waiting is in vain), and ends the
  // thread. Gives whether everything was delivered; then the files are gone, else they stay for
  // recover_spool(). A repeat gives the same answer.
  bool stop(std::chrono::milliseconds timeout);
  // Whether the thread did not end for all that: the destructor waits for it.
  bool is_busy();

  // Calls `call` on the shipper's thread at this interval, also where there is nothing to ship, but
  // not while a delivery goes on. What it throws becomes a warning. In place of an earlier call.
  void call_every(std::chrono::milliseconds interval, std::function<void()> call);

  // What the sink said when it failed last; empty when the last delivery succeeded.
  std::string last_failure() const;

  // What was told since the last call (Told::take()). Each conflict is a warning in the log too,
  // and how many reports were set aside is one in the end.
  std::optional<std::string> take_told();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace det::journal
