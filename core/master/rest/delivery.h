// Carries the reports of a journal to a master over HTTP: each is a request of its own there, so
// several are under way at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log/log.h"
#include "core/base/report.h"
#include "core/master/rest/master_session.h"
#include "core/master/rest/refused.h"
#include "core/master/rest/report_request.h"
#include "core/master/rest/window.h"

namespace det::master {

// How far the delivery of a journal has come, kept in a file beside it: a process that takes over
// after a kill neither sends again what the master has, nor takes for new what it may have.
class Watermark {
 public:
  // Of the journal in this directory; makes the file where there is none.
  explicit Watermark(const std::filesystem::path &run_directory);
  ~Watermark();
  Watermark(const Watermark &) = delete;
  Watermark &operator=(const Watermark &) = delete;

  // Sequences up to these: with the master, and sent at least once. Plain stores into memory that
  // the kernel keeps when this process is killed.
  uint64_t delivered() const noexcept { return marks_->delivered; }
  uint64_t attempted() const noexcept { return marks_->attempted; }
  void set_delivered(uint64_t sequence) noexcept { marks_->delivered = sequence; }
  void set_attempted(uint64_t sequence) noexcept;

 private:
  struct Marks {
    uint64_t delivered;
    uint64_t attempted;
  };
  Marks *marks_;
};

// Which reports of a journal the master has. Of the thread that delivers.
class DeliveryAccount {
 public:
  explicit DeliveryAccount(const std::filesystem::path &run_directory)
      : watermark_(run_directory), sent_before_(watermark_.attempted()) {}

  void on_progress(std::function<void(uint64_t)> tell) { tell_ = std::move(tell); }
  // The requests that are left of these.
  std::vector<ReportRequest> begin(std::span<const Report> reports);
  void end() { undelivered_ = {}; }

  void note_attempt(const ReportRequest &request) {
    watermark_.set_attempted(request.sequences.back());
  }
  void note_unanswered(const ReportRequest &request) {
    maybe_stored_.insert(request.sequences.begin(), request.sequences.end());
  }
  // What was noted since is lost.
  void forget_unanswered() { sent_before_ = watermark_.attempted(); }
  bool may_be_stored(uint64_t sequence) const {
    return sequence <= sent_before_ || maybe_stored_.contains(sequence);
  }

  bool is_done(uint64_t sequence) const {
    return sequence <= watermark_.delivered() || done_.contains(sequence);
  }
  // With the master, or set aside.
  void done(const ReportRequest &request);

 private:
  Watermark watermark_;
  std::function<void(uint64_t)> tell_;
  uint64_t sent_before_;  // what an earlier process may have sent, or an attempt without memory
  std::set<uint64_t> maybe_stored_;      // sent, without an answer
  std::set<uint64_t> done_;              // above the watermark
  std::span<const Report> undelivered_;  // of the batch; begins above the watermark
};

// When a delivery has to end. Any thread.
class DeliveryDeadline {
 public:
  using Clock = std::chrono::steady_clock;

  void set(Clock::time_point time) { end_ = time; }
  bool is_over() const { return Clock::now() >= end_.load(); }
  // At most `limit`.
  std::chrono::milliseconds left(std::chrono::milliseconds limit) const;

 private:
  std::atomic<Clock::time_point> end_{Clock::time_point::max()};
};

// A report counts as delivered when the master confirmed it, or gave a final answer
// (final_responses.h): then it is set aside and counted. Anything else leaves it where it is, for
// the next attempt. So a report whose answer was lost is sent again; masters that refuse a repeat
// of what they have are taken by their word.
class RestDelivery : public ReportSink {
 public:
  // `patience`: how long the answer to a request may take. A report that a master refuses ten times
  // as long, without a reason but each time showing the trial, or for a checkpoint that it looked
  // for it in vain, is set aside for those behind it.
  RestDelivery(std::shared_ptr<MasterSession> session, ReportOrigin origin,
               const std::filesystem::path &run_directory, std::shared_ptr<Logger> logger,
               std::chrono::milliseconds patience = std::chrono::seconds(30));

  // One thread at a time. Throws Code::unavailable and the like when it did not come to the end;
  // what got through is remembered.
  Delivery deliver(const JournalKey &journal, std::span<const Report> reports) override;
  Delivery take_told() override { return std::exchange(told_so_far_, {}); }
  void on_progress(std::function<void(uint64_t)> tell) override {
    account_.on_progress(std::move(tell));
  }
  void end_by(std::chrono::steady_clock::time_point time) override { deadline_.set(time); }

  // From any thread: this checkpoint, `sequence` in the journal, is the next to leave.
  void send_ahead(uint64_t sequence, const engine::CheckpointReport &report);

  // The operation that progress is a part of, for masters that count it in the searcher's units.
  void set_operation_length(uint64_t length) { operation_length_ = length; }

  // Sends a report that was refused before; whether the master takes it now.
  bool offer_again(const Json &refused);
  RefusedReports &refused() { return refused_; }
  // How many reports the master has taken from here, those that it refused left out.
  uint64_t taken() const { return taken_; }

 private:
  struct Sent {
    const ReportRequest *request;
    http::HttpCall call;
    std::chrono::steady_clock::time_point at;
  };
  struct Ahead {
    uint64_t sequence;
    int64_t time_us;
    std::string packed;
  };

  bool is_old() { return session_->version() < codec::WireVersion::v0_33; }
  bool must_wait(const ReportRequest &request);
  void begin(const ReportRequest &request, Delivery &delivery);
  void tell(const ReportRequest &checkpoint, Delivery &delivery);
  void tell_those_ahead(Delivery &delivery);
  std::optional<Ahead> first_ahead();

  http::HttpResponse wait(http::HttpCall &call, Delivery &delivery);
  void settle_oldest(Delivery &delivery);
  void settle(const ReportRequest &request, const http::HttpResponse &answer, Delivery &delivery,
              bool may_ask_again = true);
  void settle_again(const ReportRequest &request, Delivery &delivery);
  void settle_unexplained(const ReportRequest &request, const Error &error, Delivery &delivery);
  bool is_stored_already(const ReportRequest &request, const Error &error);
  void fail(const ReportRequest &request, const Error &error, bool may_be_stored);
  void refuse(const ReportRequest &request, const Error &error, std::string_view reason,
              Delivery &delivery);
  void done(const ReportRequest &request);
  Error too_late() const;

  const std::shared_ptr<MasterSession> session_;
  const ReportOrigin origin_;
  const std::shared_ptr<Logger> logger_;
  const CallOptions attempt_;
  DeliveryAccount account_;  // of the thread that delivers
  RefusedReports refused_;
  std::atomic<uint64_t> operation_length_{0};
  DeliveryDeadline deadline_;
  std::mutex ahead_mutex_;
  std::deque<Ahead> ahead_;

  // Of the thread that delivers.
  std::deque<Sent> under_way_;
  Window window_;
  std::optional<Error> failure_;
  uint64_t taken_ = 0;
  // The report that is refused without a reason, and since when.
  std::optional<std::pair<uint64_t, std::chrono::steady_clock::time_point>> unexplained_;
  Delivery told_so_far_;
  std::set<std::string> told_;  // groups and reasons of which a first refusal was told
};

}  // namespace det::master
