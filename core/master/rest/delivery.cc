#include "core/master/rest/delivery.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/codec/metrics.h"
#include "core/master/rest/parcel_order.h"

namespace det {

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
      attempt_{.replay = Replay::never, .timeout = patience},
      watermark_(run_directory),
      refused_(run_directory),
      sent_before_(watermark_.attempted()) {}

Delivery RestDelivery::deliver(const JournalKey &, std::span<const Report> reports) {
  Delivery delivery;
  failure_.reset();
  static_cast<void>(session_->version());  // its failure is not that of a report
  undelivered_ = reports;
  const Leftovers<std::deque<Sent>> leftovers(under_way_);  // they point to parcels of this call
  std::vector<Parcel> parcels = pack_parcels(reports, watermark_.delivered(), done_);
  if (is_old()) put_training_first(parcels);
  for (const Parcel &parcel : parcels) {
    while (!failure_ && must_wait(parcel)) settle_oldest(delivery);
    if (!failure_ && is_late()) failure_ = too_late();
    if (failure_) break;
    begin(parcel, delivery);
  }
  while (!under_way_.empty()) settle_oldest(delivery);
  undelivered_ = {};
  if (failure_) throw *failure_;
  return delivery;
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
  try {
    if (!is_wanted(parcel, origin_, session_->version())) return done(parcel);
    watermark_.set_attempted(parcel.sequences.back());
    under_way_.push_back({&parcel,
                          send_parcel(*session_, origin_, parcel, operation_length_, attempt_),
                          std::chrono::steady_clock::now()});
  } catch (const Error &error) {
    const bool is_impossible = error.code == Code::unsupported || error.code == Code::invalid;
    if (is_impossible) refuse(parcel, error, delivery);
    else fail(parcel, error, false);
  }
}

}  // namespace det
