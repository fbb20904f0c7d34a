#include "core/master/rest/delivery.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/codec/metrics.h"
#include "core/codec/unmanaged.h"
#include "core/master/rest/checkpoint_call.h"
#include "core/master/rest/final_responses.h"
#include "core/master/rest/report_request.h"

namespace det::master {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Watermark::Watermark(const std::filesystem::path &run_directory) {
  const std::filesystem::path path = run_directory / "watermark";
  const std::string tried = "keeping account in '" + path.string() + "'";
  const Fd file = open_file(path, O_RDWR | O_CREAT, 0600);
  // With its space, so that a store never faults on a full disk.
  if (const int failed = posix_fallocate(file.get(), 0, sizeof(Marks)); failed != 0)
    OsFailure{failed}.raise(tried);
  void *mapped = mmap(nullptr, sizeof(Marks), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) OsFailure{errno}.raise(tried);
  marks_ = static_cast<Marks *>(mapped);
}

Watermark::~Watermark() { munmap(marks_, sizeof(Marks)); }

void Watermark::set_attempted(uint64_t sequence) noexcept {
  marks_->attempted = std::max(marks_->attempted, sequence);
}

std::vector<ReportRequest> DeliveryAccount::begin(std::span<const Report> reports) {
  undelivered_ = reports;
  return make_requests(reports, watermark_.delivered(), done_);
}

void DeliveryAccount::done(const ReportRequest &request) {
  for (const uint64_t sequence : request.sequences) {
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
  if (count > 0 && tell_ && !undelivered_.empty()) tell_(undelivered_.front().sequence);
}

std::chrono::milliseconds DeliveryDeadline::left(std::chrono::milliseconds limit) const {
  const Clock::time_point end = end_;
  if (end == Clock::time_point::max()) return limit;
  return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()),
                    std::chrono::milliseconds(1), limit);
}

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

// Nothing of it can have reached a master.
bool never_left(const Error &error) {
  return error.os_errno == ECONNREFUSED || error.os_errno == EHOSTUNREACH ||
         error.os_errno == ENETUNREACH;
}

}  // namespace

RestDelivery::RestDelivery(std::shared_ptr<MasterSession> session, ReportOrigin origin,
                           const std::filesystem::path &run_directory,
                           std::shared_ptr<Logger> logger, std::chrono::milliseconds patience)
    : session_(std::move(session)),
      origin_(std::move(origin)),
      logger_(std::move(logger)),
      // Not sent again by the session: the shipper, which does, must be able to stop.
      attempt_{.replay = http::Replay::never, .timeout = patience},
      account_(run_directory),
      refused_(run_directory) {}

Delivery RestDelivery::deliver(const JournalKey &, std::span<const Report> reports) try {
  Delivery &delivery = told_so_far_;
  failure_.reset();
  static_cast<void>(session_->version());                   // its failure is not that of a report
  const Leftovers<std::deque<Sent>> leftovers(under_way_);  // they point to requests of this call
  std::vector<ReportRequest> requests = account_.begin(reports);
  if (is_old()) put_training_first(requests);
  for (const ReportRequest &request : requests) {
    tell_those_ahead(delivery);
    while (!failure_ && must_wait(request)) settle_oldest(delivery);
    if (!failure_ && deadline_.is_over()) failure_ = too_late();
    if (failure_) break;
    begin(request, delivery);
  }
  while (!under_way_.empty()) settle_oldest(delivery);
  account_.end();
  if (failure_) throw *failure_;
  return take_told();
} catch (const std::bad_alloc &) {
  account_.forget_unanswered();
  throw;
}

// A search goes by the order of validations, and the first value of a step is the one that stays.
// Masters before 0.33 take nothing of training once they have a validation of the step.
bool RestDelivery::must_wait(const ReportRequest &request) {
  if (under_way_.size() >= window_.size()) return true;
  return std::any_of(under_way_.begin(), under_way_.end(), [&](const Sent &sent) {
    if (!request.is_metrics() || !sent.request->is_metrics()) return false;
    const Report &one = *request.report, &other = *sent.request->report;
    if (one.group != other.group) return one.steps == other.steps && is_old();
    return one.steps == other.steps || one.group == "validation";
  });
}

void RestDelivery::begin(const ReportRequest &request, Delivery &delivery) {
  if (request.kind == ReportKind::checkpoint) return tell(request, delivery);
  try {
    if (!is_wanted(request, origin_, session_->version())) return done(request);
    account_.note_attempt(request);
    under_way_.push_back({&request,
                          send_request(*session_, origin_, request, operation_length_, attempt_),
                          std::chrono::steady_clock::now()});
  } catch (const Error &error) {
    const bool is_impossible = error.code == Code::unsupported || error.code == Code::invalid;
    if (is_impossible) refuse(request, error, "this version has no place for it", delivery);
    else fail(request, error, false);
  }
}

// So few that they are told one by one. A repeat is harmless.
void RestDelivery::tell(const ReportRequest &checkpoint, Delivery &delivery) {
  if (account_.is_done(checkpoint.sequences.front())) return;
  try {
    tell_checkpoint(*session_, origin_, checkpoint_of(checkpoint), checkpoint.report->time_us,
                    deadline_.left(attempt_.timeout));
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
    if (!account_.is_done(next->sequence)) return;
    const std::lock_guard lock(ahead_mutex_);
    ahead_.pop_front();
  }
}

// What the answers of a master say about the reports.

Error RestDelivery::too_late() const {
  return {Code::timeout, session_->url() + " had not taken all of them when the time was up"};
}

http::HttpResponse RestDelivery::wait(http::HttpCall &call, Delivery &delivery) {
  while (!call.wait_for(milliseconds(50))) {
    if (deadline_.is_over()) {
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
  http::HttpResponse answer;
  try {
    answer = wait(sent.call, delivery);
  } catch (const Error &error) {
    return fail(*sent.request, error, !never_left(error));
  }
  if (!failure_) window_.answered(steady_clock::now() - sent.at);
  settle(*sent.request, answer, delivery);
}

void RestDelivery::settle(const ReportRequest &request, const http::HttpResponse &answer,
                          Delivery &delivery, bool may_ask_again) {
  try {
    read_response(*session_, request, origin_, answer);
    done(request);
  } catch (const Error &error) {
    const FinalResponse *const final = find_final(answer);
    if (is_stored_already(request, error)) done(request);
    else if (final != nullptr) refuse(request, error, final->reason, delivery);
    else if (may_ask_again && is_inner_failure(answer)) settle_again(request, delivery);
    else if (is_unexplained(answer)) settle_unexplained(request, as_passing(error), delivery);
    else fail(request, as_passing(error), true);
  }
}

// A master whose database is away now and then soon has it again, and then shows the trial.
void RestDelivery::settle_again(const ReportRequest &request, Delivery &delivery) {
  // It may have been away after it took the report.
  account_.note_unanswered(request);
  http::HttpResponse answer;
  try {
    const milliseconds limit = deadline_.left(attempt_.timeout);
    const http::HttpResponse shown =
        session_->ask(codec::GetTrial{origin_.trial_id},
                      {.replay = http::Replay::never, .timeout = limit, .limit = limit});
    if (shown.status >= 500)
      throw Error(Code::unavailable, session_->url() + " cannot show trial " +
                                         std::to_string(origin_.trial_id) + " either");
    http::HttpCall again = send_request(*session_, origin_, request, operation_length_, attempt_);
    answer = wait(again, delivery);
  } catch (const Error &error) {
    return fail(request, error, true);
  }
  settle(request, answer, delivery, false);
}

// Reports leave in their order, so that one which this master cannot take, by a fault of its own
// say, would hold up all later ones until the journal is full, and those would be lost. So it makes
// way in the end, into the file of refused ones, which is told and which `det sync` offers again. A
// master that cannot show the trial or look for the checkpoint, names an error of its database, or
// is not reached never gets that far: then everything waits. Nothing is given up for want of room.
void RestDelivery::settle_unexplained(const ReportRequest &request, const Error &error,
                                      Delivery &delivery) {
  const uint64_t sequence = request.sequences.back();
  const auto now = steady_clock::now();
  const auto since = unexplained_ && unexplained_->first == sequence ? unexplained_->second : now;
  if (now - since >= 10 * attempt_.timeout && refused_.has_room())
    return refuse(request, error, "refused all the time by a master that shows the trial",
                  delivery);
  fail(request, error, true);
  unexplained_ = {sequence, since};
}

void RestDelivery::fail(const ReportRequest &request, const Error &error, bool may_be_stored) {
  if (may_be_stored) account_.note_unanswered(request);
  if (error.http_status == 401) session_->renew_credential(session_->credential_number());
  if (!failure_) failure_ = error;
  unexplained_.reset();
  window_.failed();
}

// Masters answer 500 to a repeat: 0.19 to any, later ones where there are batch metrics.
bool RestDelivery::is_stored_already(const ReportRequest &request, const Error &error) {
  if (!request.is_metrics() || error.http_status != 500) return false;
  if (!account_.may_be_stored(request.sequences.back())) return false;
  const char *const reason = is_old() ? "duplicate key" : "batch metrics";
  return (is_old() || request.has_batches()) &&
         std::string(error.what()).find(reason) != std::string::npos;
}

void RestDelivery::refuse(const ReportRequest &request, const Error &error, std::string_view reason,
                          Delivery &delivery) {
  std::string message = "the master takes no more of " + name_of(request) + ": " + error.what();
  bool is_kept = false;
  try {
    is_kept = refused_.keep(to_json(request, error.what()));
  } catch (const Error &unwritten) {
    return fail(request, unwritten, false);  // a full disk, say: it stays in the journal
  }
  message += is_kept ? "; it is kept in '" : "; it is lost, since too many are kept in '";
  message += refused_.path().string() + "'";
  std::string kind(request.is_metrics() ? request.report->group : "(no group)");
  if (told_.insert(kind.append(": ").append(reason)).second) delivery.conflicts.push_back(message);
  else logger_->info(message);
  const uint64_t count = request.sequences.size();
  delivery.set_aside += count;
  if (!is_kept) delivery.lost += count;
  delivery.set_aside_in = refused_.path().string();
  done(request);
  taken_ -= count;
}

void RestDelivery::done(const ReportRequest &request) {
  taken_ += request.sequences.size();
  account_.done(request);
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
