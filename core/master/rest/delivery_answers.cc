// What the answers of a master say about the reports.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/codec/metrics.h"
#include "core/codec/unmanaged.h"
#include "core/master/rest/checkpoint_call.h"
#include "core/master/rest/delivery.h"
#include "core/master/rest/final_answers.h"

namespace det::master {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Nothing of it can have reached a master.
bool never_left(const Error &error) {
  return error.os_errno == ECONNREFUSED || error.os_errno == EHOSTUNREACH ||
         error.os_errno == ENETUNREACH;
}

}  // namespace

Error RestDelivery::too_late() const {
  return {Code::timeout, session_->url() + " had not taken all of them when the time was up"};
}

milliseconds RestDelivery::time_left(milliseconds limit) const {
  const steady_clock::time_point end = end_;
  if (end == steady_clock::time_point::max()) return limit;
  return std::clamp(std::chrono::ceil<milliseconds>(end - steady_clock::now()), milliseconds(1),
                    limit);
}

http::HttpAnswer RestDelivery::wait(http::HttpCall &call, Delivery &delivery) {
  while (!call.wait_for(milliseconds(50))) {
    if (is_late()) {
      call.cancel();
      throw too_late();
    }
    tell_those_ahead(delivery);
  }
  return call.wait();
}

void RestDelivery::settle_oldest(Delivery &delivery) {
  Sent sent = std::move(under_way_.front());
  under_way_.pop_front();
  http::HttpAnswer answer;
  try {
    answer = wait(sent.call, delivery);
  } catch (const Error &error) {
    return fail(*sent.parcel, error, !never_left(error));
  }
  if (!failure_) window_.answered(steady_clock::now() - sent.at);
  settle(*sent.parcel, answer, delivery);
}

void RestDelivery::settle(const Parcel &parcel, const http::HttpAnswer &answer, Delivery &delivery,
                          bool may_ask_again) {
  try {
    read_parcel_answer(*session_, parcel, origin_, answer);
    done(parcel);
  } catch (const Error &error) {
    const FinalAnswer *const final = find_final(answer);
    if (is_stored_already(parcel, error)) done(parcel);
    else if (final != nullptr) refuse(parcel, error, final->reason, delivery);
    else if (may_ask_again && is_inner_failure(answer)) settle_again(parcel, delivery);
    else if (is_unexplained(answer)) settle_unexplained(parcel, as_passing(error), delivery);
    else fail(parcel, as_passing(error), true);
  }
}

// A master whose database is away now and then soon has it again, and then shows the trial.
void RestDelivery::settle_again(const Parcel &parcel, Delivery &delivery) {
  // It may have been away after it took the report.
  maybe_stored_.insert(parcel.sequences.begin(), parcel.sequences.end());
  http::HttpAnswer answer;
  try {
    const milliseconds limit = time_left(attempt_.timeout);
    const http::HttpAnswer shown =
        session_->ask(codec::GetTrial{origin_.trial_id},
                      {.replay = http::Replay::never, .timeout = limit, .limit = limit});
    if (shown.status >= 500)
      throw Error(Code::unavailable, session_->url() + " cannot show trial " +
                                         std::to_string(origin_.trial_id) + " either");
    http::HttpCall again = send_parcel(*session_, origin_, parcel, operation_length_, attempt_);
    answer = wait(again, delivery);
  } catch (const Error &error) {
    return fail(parcel, error, true);
  }
  settle(parcel, answer, delivery, false);
}

// Reports leave in their order, so that one which this master cannot take, by a fault of its own
// say, would hold up all later ones until the journal is full, and those would be lost. So it makes
// way in the end, into the file of refused ones, which is told and which `det sync` offers again. A
// master that cannot show the trial or look for the checkpoint, names an error of its database, or
// is not reached never gets that far: then everything waits. Nothing is given up for want of room.
void RestDelivery::settle_unexplained(const Parcel &parcel, const Error &error,
                                      Delivery &delivery) {
  const uint64_t sequence = parcel.sequences.back();
  const auto now = steady_clock::now();
  const auto since = unexplained_ && unexplained_->first == sequence ? unexplained_->second : now;
  if (now - since >= 10 * attempt_.timeout && refused_.has_room())
    return refuse(parcel, error, "refused all the time by a master that shows the trial", delivery);
  fail(parcel, error, true);
  unexplained_ = {sequence, since};
}

void RestDelivery::fail(const Parcel &parcel, const Error &error, bool may_be_stored) {
  if (may_be_stored) maybe_stored_.insert(parcel.sequences.begin(), parcel.sequences.end());
  if (error.http_status == 401) session_->renew_credential(session_->credential_number());
  if (!failure_) failure_ = error;
  unexplained_.reset();
  window_.failed();
}

// Masters answer 500 to a repeat: 0.19 to any, later ones where there are batch metrics.
bool RestDelivery::is_stored_already(const Parcel &parcel, const Error &error) {
  if (!parcel.is_metrics() || error.http_status != 500) return false;
  const uint64_t sequence = parcel.sequences.back();
  if (sequence > sent_before_ && !maybe_stored_.contains(sequence)) return false;
  const char *const reason = is_old() ? "duplicate key" : "batch metrics";
  return (is_old() || parcel.has_batches()) &&
         std::string(error.what()).find(reason) != std::string::npos;
}

void RestDelivery::refuse(const Parcel &parcel, const Error &error, std::string_view reason,
                          Delivery &delivery) {
  std::string message = "the master takes no more of " + name_of(parcel) + ": " + error.what();
  bool is_kept = false;
  try {
    is_kept = refused_.keep(to_json(parcel, error.what()));
  } catch (const Error &unwritten) {
    return fail(parcel, unwritten, false);  // a full disk, say: it stays in the journal
  }
  message += is_kept ? "; it is kept in '" : "; it is lost, since too many are kept in '";
  message += refused_.path().string() + "'";
  std::string kind(parcel.is_metrics() ? parcel.report->group : "(no group)");
  if (told_.insert(kind.append(": ").append(reason)).second) delivery.conflicts.push_back(message);
  else logger_->info(message);
  const uint64_t count = parcel.sequences.size();
  delivery.set_aside += count;
  if (!is_kept) delivery.lost += count;
  delivery.set_aside_in = refused_.path().string();
  done(parcel);
  taken_ -= count;
}

bool RestDelivery::is_done(uint64_t sequence) const {
  return sequence <= watermark_.delivered() || done_.contains(sequence);
}

void RestDelivery::done(const Parcel &parcel) {
  for (const uint64_t sequence : parcel.sequences) {
    maybe_stored_.erase(sequence);
    done_.insert(sequence);
  }
  taken_ += parcel.sequences.size();
  uint64_t delivered = watermark_.delivered();
  size_t count = 0;
  for (; count < undelivered_.size(); ++count) {
    const uint64_t sequence = undelivered_[count].sequence;
    if (sequence > delivered && done_.erase(sequence) == 0) break;
    delivered = std::max(delivered, sequence);
  }
  undelivered_ = undelivered_.subspan(count);
  watermark_.set_delivered(delivered);
  if (count > 0 && tell_ && !undelivered_.empty()) tell_(undelivered_.front().sequence);
}

bool RestDelivery::offer_again(const Json &refused) {
  try {
    const auto checkpoint = refused.find("checkpoint");
    if (checkpoint == refused.end()) session_->call(metrics_from_json(refused, origin_));
    else
      tell_checkpoint(*session_, origin_, engine::checkpoint_report_from_json(*checkpoint),
                      parse_iso8601(refused.at("time").get<std::string>()).value_or(now_us()),
                      attempt_.timeout);
    return true;
  } catch (const Json::exception &) {
    return false;  // a status, or lines of log: they have had their time
  } catch (const Error &error) {
    if (may_work_later(error)) throw;
    return false;
  }
}

}  // namespace det::master
