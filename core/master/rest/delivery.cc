#include "core/master/rest/delivery.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/codec/metrics.h"
#include "core/master/rest/checkpoint_call.h"
#include "core/master/rest/parcel_order.h"

namespace det::master {

namespace {

// Empties it in the end.
template <class Requests>
class Leftovers {
 public:
  explicit Leftovers(Requests &requests) : requests_(requests) {}
  ~Leftovers() { requests_.clear(); }

 private:
  Requests &requests_;
};

}  // namespace

RestDelivery::RestDelivery(std::shared_ptr<MasterSession> session, ReportOrigin origin,
                           const std::filesystem::path &run_directory,
                           std::shared_ptr<Logger> logger, std::chrono::milliseconds patience)
    : session_(std::move(session)),
      origin_(std::move(origin)),
      logger_(std::move(logger)),
      // Not sent again by the session: the shipper, which does, must be able to stop.
      attempt_{.replay = http::Replay::never, .timeout = patience},
      watermark_(run_directory),
      refused_(run_directory),
      sent_before_(watermark_.attempted()) {}

Delivery RestDelivery::deliver(const JournalKey &, std::span<const Report> reports) try {
  Delivery &delivery = told_so_far_;
  failure_.reset();
  static_cast<void>(session_->version());  // its failure is not that of a report
  undelivered_ = reports;
  const Leftovers<std::deque<Sent>> leftovers(under_way_);  // they point to parcels of this call
  std::vector<Parcel> parcels = pack_parcels(reports, watermark_.delivered(), done_);
  if (is_old()) put_training_first(parcels);
  for (const Parcel &parcel : parcels) {
    tell_those_ahead(delivery);
    while (!failure_ && must_wait(parcel)) settle_oldest(delivery);
    if (!failure_ && is_late()) failure_ = too_late();
    if (failure_) break;
    begin(parcel, delivery);
  }
  while (!under_way_.empty()) settle_oldest(delivery);
  undelivered_ = {};
  if (failure_) throw *failure_;
  return take_told();
} catch (const std::bad_alloc &) {
  sent_before_ = watermark_.attempted();
  throw;
}

// A search goes by the order of validations, and the first value of a step is the one that stays.
// Masters before 0.33 take nothing of training once they have a validation of the step.
bool RestDelivery::must_wait(const Parcel &parcel) {
  if (under_way_.size() >= window_.size()) return true;
  return std::any_of(under_way_.begin(), under_way_.end(), [&](const Sent &sent) {
    if (!parcel.is_metrics() || !sent.parcel->is_metrics()) return false;
    const Report &one = *parcel.report, &other = *sent.parcel->report;
    if (one.group != other.group) return one.steps == other.steps && is_old();
    return one.steps == other.steps || one.group == "validation";
  });
}

void RestDelivery::begin(const Parcel &parcel, Delivery &delivery) {
  if (parcel.kind == ReportKind::checkpoint) return tell(parcel, delivery);
  try {
    if (!is_wanted(parcel, origin_, session_->version())) return done(parcel);
    watermark_.set_attempted(parcel.sequences.back());
    under_way_.push_back({&parcel,
                          send_parcel(*session_, origin_, parcel, operation_length_, attempt_),
                          std::chrono::steady_clock::now()});
  } catch (const Error &error) {
    const bool is_impossible = error.code == Code::unsupported || error.code == Code::invalid;
    if (is_impossible) refuse(parcel, error, "this version has no place for it", delivery);
    else fail(parcel, error, false);
  }
}

// So few that they are told one by one. A repeat is harmless.
void RestDelivery::tell(const Parcel &checkpoint, Delivery &delivery) {
  if (is_done(checkpoint.sequences.front())) return;
  try {
    tell_checkpoint(*session_, origin_, checkpoint_of(checkpoint), checkpoint.report->time_us,
                    time_left(attempt_.timeout));
    done(checkpoint);
  } catch (const UnexplainedRefusal &refusal) {
    settle_unexplained(checkpoint, refusal, delivery);
  } catch (const Error &error) {
    // A permission may be given.
    if (may_work_later(error) || error.http_status == 403) fail(checkpoint, error, false);
    else refuse(checkpoint, error, "a final answer", delivery);
  }
}

void RestDelivery::send_ahead(uint64_t sequence, const engine::CheckpointReport &report) {
  const std::lock_guard lock(ahead_mutex_);
  ahead_.push_back({sequence, now_us(), pack(engine::to_json(report))});
}

std::optional<RestDelivery::Ahead> RestDelivery::first_ahead() {
  const std::lock_guard lock(ahead_mutex_);
  return ahead_.empty() ? std::nullopt : std::optional(ahead_.front());
}

void RestDelivery::tell_those_ahead(Delivery &delivery) {
  while (const std::optional<Ahead> next = failure_ ? std::nullopt : first_ahead()) {
    Report report;
    report.sequence = next->sequence;
    report.time_us = next->time_us;
    report.kind = ReportKind::checkpoint;
    report.text = next->packed;
    tell({ReportKind::checkpoint, {next->sequence}, &report}, delivery);
    if (!is_done(next->sequence)) return;
    const std::lock_guard lock(ahead_mutex_);
    ahead_.pop_front();
  }
}

}  // namespace det::master
