#include "core/master/rest/rest_trial.h"

#include <algorithm>
#include <functional>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/codec/checkpoints.h"
#include "core/codec/lists.h"
#include "core/codec/run.h"
#include "core/codec/unmanaged.h"
#include "core/journal/run_directory.h"
#include "core/master/rest/checkpoint_call.h"

namespace det::master {

ReportOrigin RestRun::origin() const {
  return {managed, info.trial_id, info.run_id, rank, info.task_id, info.allocation_id, storage_id};
}

RestTrial::RestTrial(std::shared_ptr<MasterSession> session, RestRun run,
                     std::shared_ptr<Logger> logger)
    : session_(std::move(session)),
      run_(std::move(run)),
      logger_(std::move(logger)),
      delivery_(session_, run_.origin(), run_.directory, logger_),
      checkpoints_(*session_, run_, delivery_) {}

RestTrial::~RestTrial() {
  try {
    remove_directory();
  } catch (const std::exception &) {
    // Left for the next start or `det sync`.
  }
}

void RestTrial::remove_directory() { journal::remove_run_directory(run_.directory); }

Delivery RestTrial::deliver(const JournalKey &journal, std::span<const Report> reports) {
  return delivery_.deliver(journal, reports);
}

void RestTrial::on_progress(std::function<void(uint64_t)> tell) {
  delivery_.on_progress(std::move(tell));
}

void RestTrial::end_by(std::chrono::steady_clock::time_point time) { delivery_.end_by(time); }

// Who saves must not wait for long: what does not get through waits in the journal.
void RestCheckpoints::report(const engine::CheckpointReport &report) {
  tell_checkpoint(session_, run_.origin(), report, now_us(), std::chrono::seconds(5));
  note_reported(report.id);
}

void RestCheckpoints::send_ahead(uint64_t sequence, const engine::CheckpointReport &report) {
  note_reported(report.id);
  delivery_.send_ahead(sequence, report);
}

void RestCheckpoints::note_reported(const std::string &id) {
  const std::lock_guard guard(mutex_);
  reported_.insert(id);
}

bool RestCheckpoints::knows(const std::string &id) {
  const std::optional<codec::Checkpoint> found = find_checkpoint(session_, id);
  return found && found->state == codec::CheckpointState::completed;
}

std::vector<engine::CheckpointEntry> RestCheckpoints::list() {
  std::vector<engine::CheckpointEntry> all;
  constexpr int64_t page = 500;
  for (int64_t offset = 0, total = 1; offset < total; offset += page) {
    const codec::CheckpointList list = session_.call(
        codec::ListTrialCheckpoints{run_.info.trial_id, {.offset = offset, .limit = page}});
    total = list.pagination.total;
    for (const codec::Checkpoint &each : list.checkpoints) {
      const auto steps = each.metadata.find("steps_completed");
      if (each.state != codec::CheckpointState::completed || steps == each.metadata.end() ||
          !steps->is_number_integer())
        continue;
      engine::CheckpointEntry entry{each.uuid, steps->get<int64_t>()};
      if (each.report_time) entry.time_us = each.report_time->us;
      for (const auto &[path, bytes] : each.resources) entry.size += static_cast<int64_t>(bytes);
      all.push_back(std::move(entry));
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), [](const engine::CheckpointEntry &entry) {
    return std::pair(entry.steps, entry.time_us);
  });
  return all;
}

std::optional<Json> RestCheckpoints::metadata(const std::string &id) {
  const std::optional<codec::Checkpoint> found = find_checkpoint(session_, id);
  return found ? std::optional(found->metadata) : std::nullopt;
}

// The program of a trial of the cluster is the same in all its runs; that of others may have been
// another before, with another library.
bool RestCheckpoints::has_made(const std::string &id) {
  if (const std::lock_guard guard(mutex_); reported_.contains(id)) return true;
  if (!run_.managed) return false;
  const std::optional<codec::Checkpoint> found = find_checkpoint(session_, id);
  return found && found->task_id == run_.info.task_id;
}

// The master knows no state between complete and deleted that it would also take back, and refuses
// what is in its registry of models: so it is told first, with all files still there.
bool RestCheckpoints::withdraw(const std::string &id) {
  if (!codec::has_call<codec::PatchCheckpoints>(session_.version())) return false;
  try {
    session_.call(codec::PatchCheckpoints{{{.uuid = id, .resources = codec::Sizes{}}}}, repeatable);
    return true;
  } catch (const Error &error) {
    if (error.code != Code::not_found) throw;  // made without this master
    return false;
  }
}

void RestTrial::set_metadata(const Json &metadata) {
  session().call(codec::SetRunMetadata{run_.info.trial_id, std::make_optional<Json>(metadata)},
                 repeatable);
}

Json RestTrial::metadata() {
  return session().call(codec::GetRunMetadata{run_.info.trial_id}).metadata;
}

std::optional<double> RestTrial::best_validation() {
  try {
    return session().call(codec::GetBestValidation{run_.info.experiment_id}).metric;
  } catch (const Error &error) {
    if (error.code == Code::not_found) return std::nullopt;  // no validation yet
    throw;
  }
}

std::optional<int64_t> RestTrial::last_validation() {
  const codec::Trial trial = session().call(codec::GetTrial{run_.info.trial_id}).trial;
  if (!trial.latest_validation) return std::nullopt;
  return trial.latest_validation->steps_completed;
}

bool wait_until(std::chrono::steady_clock::time_point then, const Wake &wake) {
  for (;;) {
    const auto left =
        std::clamp<std::chrono::nanoseconds>(then - std::chrono::steady_clock::now(),
                                             std::chrono::nanoseconds{0}, std::chrono::hours{1});
    if (wake.poll(std::chrono::ceil<std::chrono::milliseconds>(left))) return true;
    if (std::chrono::steady_clock::now() >= then) return false;
  }
}

}  // namespace det::master
