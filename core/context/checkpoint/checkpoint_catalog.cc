#include "core/context/checkpoint/checkpoint_catalog.h"

#include <algorithm>

#include "core/context/train.h"
#include "core/storage/tree.h"

namespace det::context {

namespace {

// No answer came, or none of the master's own.
bool may_be_known(const Error &error) {
  return error.code == Code::unavailable || error.code == Code::timeout ||
         error.code == Code::access || error.http_status != 0;
}

bool may_be_taken_later(const Error &error) {
  return is_passing(error.code) || error.code == Code::full || error.code == Code::access;
}

}  // namespace

void CheckpointCatalog::publish(storage::CheckpointWriter &writer, const Json &metadata,
                                const std::vector<std::string> &shares, storage::Progress *progress,
                                SaveTicket *ticket) {
  engine::CheckpointReport report{writer.id(), metadata, {}, run_.storage.config()};
  report.resources = writer.commit(shares, progress);  // from here on it is visible
  if (ticket != nullptr) try {
      ticket->settle();
    } catch (const Error &) {
      writer.abort();
      throw;
    }
  const bool in_order = run_.train.delivery().give_way();
  try {
    run_.master.checkpoints().report(report);
  } catch (const std::exception &failure) {
    publish_later(writer, report, as_error(failure));
    return;
  }
  writer.announced();
  run_.logger.info("saved checkpoint ", writer.id());
  retention_.note_saved(in_order);
}

// The bytes are safe: nothing that passes makes them be given up.
void CheckpointCatalog::publish_later(storage::CheckpointWriter &writer,
                                      const engine::CheckpointReport &report, const Error &reason) {
  const std::string &id = report.id;
  try {
    if (may_be_taken_later(reason) && keep(report)) {
      writer.announced();
      run_.logger.warning("saved checkpoint ", id,
                          ", and the master gets it later: ", reason.what());
      return;
    }
  } catch (const std::exception &failure) {
    writer.announced();
    const Error unkept = as_error(failure);
    throw Error(unkept.code,
                "reporting checkpoint " + id + ", which is safe in storage: " + reason.what() +
                    "; keeping the report for later: " + unkept.what(),
                unkept.os_errno, reason.http_status);
  }
  if (!may_be_known(reason)) {
    writer.abort();
    throw reason;
  }
  writer.announced();  // files that nobody knows do less harm than a checkpoint without files
  throw Error(reason.code,
              std::string(reason.what()) + "; checkpoint " + id +
                  " stays in storage, since the master may know it; delete it if it does not",
              reason.os_errno, reason.http_status);
}

// In the journal; false where this rank has none.
bool CheckpointCatalog::keep(const engine::CheckpointReport &report) {
  const std::optional<uint64_t> sequence = run_.train.delivery().keep(report);
  if (!sequence) return false;
  const std::lock_guard lock(mutex_);
  waiting_.insert_or_assign(report.id, report);
  run_.master.checkpoints().send_ahead(*sequence, report);
  return true;
}

// To the master its end must not come before its beginning.
void CheckpointCatalog::report_waiting(const std::string &id) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  run_.master.checkpoints().report(found->second);
  waiting_.erase(found);
}

std::vector<engine::CheckpointEntry> CheckpointCatalog::list() {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  std::vector<engine::CheckpointEntry> all = run_.master.checkpoints().list();
  const std::lock_guard lock(mutex_);
  for (const auto &each : waiting_) {
    const engine::CheckpointReport &report = each.second;
    const auto is_it = [&](const engine::CheckpointEntry &entry) { return entry.id == report.id; };
    if (std::any_of(all.begin(), all.end(), is_it)) continue;
    engine::CheckpointEntry entry{report.id, report.metadata.at("steps_completed").get<int64_t>()};
    for (const auto &[path, bytes] : report.resources) entry.size += static_cast<int64_t>(bytes);
    const auto has_fewer = [&](const engine::CheckpointEntry &other) {
      return other.steps <= entry.steps;
    };
    all.insert(std::find_if(all.begin(), all.end(), has_fewer), std::move(entry));
  }
  return all;
}

Json CheckpointCatalog::metadata(const std::string &id) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  storage::check_storage_id(id);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = waiting_.find(id); found != waiting_.end())
      return found->second.metadata;
  }
  if (std::optional<Json> known = run_.master.checkpoints().metadata(id)) return *known;
  // Saved before this store existed, or by another program: storage keeps a copy.
  const std::optional<std::string> text = run_.storage.read(id, storage::metadata_name);
  if (!text) return Json::object();
  return parse_json_object(*text,
                           std::string(storage::metadata_name) + " of checkpoint '" + id + "'");
}

}  // namespace det::context
