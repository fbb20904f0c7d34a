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

#include "core/base/log.h"
#include "core/base/report.h"
#include "core/master/rest/master_session.h"
#include "core/master/rest/parcel.h"
#include "core/master/rest/refused.h"
#include "core/master/rest/watermark.h"
#include "core/master/rest/window.h"

namespace det::master {

// A report counts as delivered when the master confirmed it, or gave a final answer
// (final_answers.h): then it is set aside and counted. Anything else leaves it where it is, for the
// next attempt. So a report whose answer was lost is sent again; masters that refuse a repeat of
// what they have are taken by their word.
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
  void on_progress(std::function<void(uint64_t)> tell) override { tell_ = std::move(tell); }
  void end_by(std::chrono::steady_clock::time_point time) override { end_ = time; }

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
    const Parcel *parcel;
    http::HttpCall call;
    std::chrono::steady_clock::time_point at;
  };
  struct Ahead {
    uint64_t sequence;
    int64_t time_us;
    std::string packed;
  };

  bool is_old() { return session_->version() < codec::WireVersion::v0_33; }
  bool must_wait(const Parcel &parcel);
  void begin(const Parcel &parcel, Delivery &delivery);
  void tell(const Parcel &checkpoint, Delivery &delivery);
  void tell_those_ahead(Delivery &delivery);
  std::optional<Ahead> first_ahead();

  http::HttpAnswer wait(http::HttpCall &call, Delivery &delivery);
  void settle_oldest(Delivery &delivery);
  void settle(const Parcel &parcel, const http::HttpAnswer &answer, Delivery &delivery,
              bool may_ask_again = true);
  void settle_again(const Parcel &parcel, Delivery &delivery);
  void settle_unexplained(const Parcel &parcel, const Error &error, Delivery &delivery);
  bool is_stored_already(const Parcel &parcel, const Error &error);
  void fail(const Parcel &parcel, const Error &error, bool may_be_stored);
  void refuse(const Parcel &parcel, const Error &error, std::string_view reason,
              Delivery &delivery);
  bool is_done(uint64_t sequence) const;
  void done(const Parcel &parcel);

  bool is_late() const { return std::chrono::steady_clock::now() >= end_.load(); }
  Error too_late() const;
  std::chrono::milliseconds time_left(std::chrono::milliseconds limit) const;

  const std::shared_ptr<MasterSession> session_;
  const ReportOrigin origin_;
  const std::shared_ptr<Logger> logger_;
  const CallOptions attempt_;
  Watermark watermark_;
  RefusedReports refused_;
  std::function<void(uint64_t)> tell_;
  std::atomic<uint64_t> operation_length_{0};
  std::atomic<std::chrono::steady_clock::time_point> end_{
      std::chrono::steady_clock::time_point::max()};
  std::mutex ahead_mutex_;
  std::deque<Ahead> ahead_;

  // Of the thread that delivers.
  uint64_t sent_before_;  // what an earlier process may have sent, or an attempt without memory
  std::set<uint64_t> maybe_stored_;      // sent, without an answer
  std::set<uint64_t> done_;              // above the watermark
  std::span<const Report> undelivered_;  // of the batch; begins above the watermark
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
