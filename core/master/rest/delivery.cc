#include "core/master/rest/delivery.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/error.h"
#include "core/codec/metrics.h"

namespace det {

namespace {

// Nothing of it can have reached a master.
bool never_left(const Error &error) {
  return error.os_errno == ECONNREFUSED || error.os_errno == EHOSTUNREACH ||
         error.os_errno == ENETUNREACH;
}

bool is_metrics(const Parcel &parcel) {
  return parcel.kind == ReportKind::metrics || parcel.kind == ReportKind::metrics_json;
}

// Empties it in the end.
template <class Window>
class Leftovers {
 public:
  explicit Leftovers(Window &window) : window_(window) {}
  ~Leftovers() { window_.clear(); }

 private:
  Window &window_;
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
  const Leftovers<std::deque<Sent>> leftovers(window_);  // they point to parcels of this call
  const std::vector<Parcel> parcels = pack_parcels(reports, watermark_.delivered(), done_);
  for (const Parcel &parcel : parcels) {
    while (!failure_ && must_wait(parcel)) settle_oldest(delivery);
    if (failure_) break;
    begin(parcel, delivery);
  }
  while (!window_.empty()) settle_oldest(delivery);
  undelivered_ = {};
  if (failure_) throw *failure_;
  return delivery;
}

// A search goes by the order of validations, and the first value of a step is the one that stays.
bool RestDelivery::must_wait(const Parcel &parcel) const {
  if (window_.size() >= window_size_) return true;
  return std::any_of(window_.begin(), window_.end(), [&](const Sent &sent) {
    return is_metrics(parcel) && is_metrics(*sent.parcel) &&
           sent.parcel->report->group == parcel.report->group &&
           (parcel.report->group == "validation" ||
            sent.parcel->report->steps == parcel.report->steps);
  });
}

void RestDelivery::begin(const Parcel &parcel, Delivery &delivery) {
  try {
    if (!is_wanted(parcel, origin_, session_->version())) return done(parcel);
    watermark_.set_attempted(parcel.sequences.back());
    window_.push_back(
        {&parcel, send_parcel(*session_, origin_, parcel, operation_length_, attempt_)});
  } catch (const Error &error) {
    const bool is_impossible = error.code == Code::unsupported || error.code == Code::invalid;
    if (is_impossible) refuse(parcel, error, delivery);
    else fail(parcel, error, false);
  }
}

void RestDelivery::settle_oldest(Delivery &delivery) {
  Sent sent = std::move(window_.front());
  window_.pop_front();
  HttpAnswer answer;
  try {
    answer = sent.call.wait();
    read_parcel_answer(*session_, *sent.parcel, origin_, answer);
    if (!failure_) window_size_ = widest_window;
    done(*sent.parcel);
  } catch (const Error &error) {
    if (!is_final_refusal(answer)) fail(*sent.parcel, error, !never_left(error));
    else if (is_stored_already(*sent.parcel, error)) done(*sent.parcel);
    else refuse(*sent.parcel, error, delivery);
  }
}

void RestDelivery::fail(const Parcel &parcel, const Error &error, bool may_be_stored) {
  if (may_be_stored) maybe_stored_.insert(parcel.sequences.begin(), parcel.sequences.end());
  if (error.http_status == 401) session_->renew_credential(session_->credential_number());
  if (!failure_) failure_ = error;
  window_size_ = 1;  // one report asks whether the master is back
}

// Masters answer 500 to a repeat: 0.19 to any, later ones where there are batch metrics. They also
// answer it to a run that another one has followed, and when their database is away.
bool RestDelivery::is_stored_already(const Parcel &parcel, const Error &error) {
  if (!is_metrics(parcel) || error.http_status != 500) return false;
  const uint64_t sequence = parcel.sequences.back();
  if (sequence > sent_before_ && !maybe_stored_.contains(sequence)) return false;
  const bool is_old = session_->version() < WireVersion::v0_33;
  const char *const reason = is_old ? "duplicate key" : "batch metrics";
  return (is_old || parcel.has_batches()) &&
         std::string(error.what()).find(reason) != std::string::npos;
}

void RestDelivery::refuse(const Parcel &parcel, const Error &error, Delivery &delivery) {
  std::string message = "the master takes no more of " + name_of(parcel) + ": " + error.what();
  try {
    message += refused_.keep(to_json(parcel, error.what()))
                   ? "; it is kept in '" + refused_.path().string() + "'"
                   : "; it is lost, since too many are kept in '" + refused_.path().string() + "'";
  } catch (const Error &unwritten) {
    return fail(parcel, unwritten, false);  // a full disk, say: it stays in the journal
  }
  const std::string group(is_metrics(parcel) ? parcel.report->group : "(no group)");
  if (told_groups_.insert(group).second) delivery.conflicts.push_back(message);
  else logger_->info(message);
  done(parcel);
}

void RestDelivery::done(const Parcel &parcel) {
  for (const uint64_t sequence : parcel.sequences) {
    maybe_stored_.erase(sequence);
    done_.insert(sequence);
  }
  uint64_t delivered = watermark_.delivered();
  size_t count = 0;
  for (; count < undelivered_.size(); ++count) {
    const uint64_t sequence = undelivered_[count].sequence;
    if (sequence > delivered && done_.erase(sequence) == 0) break;
    delivered = std::max(delivered, sequence);
  }
  undelivered_ = undelivered_.subspan(count);
  watermark_.set_delivered(delivered);
}

bool RestDelivery::offer_again(const Json &refused) {
  try {
    session_->call(metrics_from_json(refused, origin_));
    return true;
  } catch (const Json::exception &) {
    return false;  // a status, or lines of log: they have had their time
  } catch (const Error &error) {
    if (may_work_later(error)) throw;
    return false;
  }
}

}  // namespace det
