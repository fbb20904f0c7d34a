// Saves that go on in the background. What needs all ranks at once is settled in the call, as for
// any save; what the ranks finish afterwards reaches the chief by way of the storage, so that no
// collective ever runs beside those of the caller.
#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint.h"
#include "core/context/sealed_saves.h"
#include "core/context/train.h"

namespace det::context {

using std::chrono::milliseconds;

namespace {

// How long a rank waits before it lets the others know that it still does, or a caller stop it.
constexpr milliseconds step{200};
constexpr milliseconds step_together{1000};

void look_for_stop() {
  if (storage::Progress *progress = storage::Progress::current()) progress->tell();
}

void check_size(uint64_t bytes, const SaveLimits &limits) {
  if (bytes > limits.bytes)
    throw Error(Code::full,
                "saving a checkpoint of " + std::to_string(bytes) +
                    " bytes asynchronously: the limit is " + std::to_string(limits.bytes) +
                    "; raise limit_bytes of det_save_limits and det_staging_options, or save "
                    "this one with det_checkpoint_upload()");
}

SaveQueue::Room room_for(uint64_t bytes, const SaveLimits &limits) {
  return {limits.in_flight - 1, limits.bytes - bytes};
}

[[noreturn]] void refuse_for_now() {
  throw Error(Code::busy,
              "saving a checkpoint asynchronously: earlier ones are still under way, as many as "
              "det_save_limits allows; wait for one of them");
}

}  // namespace

void CheckpointContext::limit_saves(const SaveLimits &limits) {
  gate_.check();
  const std::lock_guard guard(limits_mutex_);
  limits_ = limits;
}

SaveLimits CheckpointContext::limits() {
  const std::lock_guard guard(limits_mutex_);
  return limits_;
}

void CheckpointContext::make_room(uint64_t bytes, SaveStage::Bytes where) {
  SaveLimits now = limits();
  const std::shared_ptr<SaveStage> at = stage();
  if (at) now.bytes = std::min(now.bytes, at->limit_bytes());
  check_size(bytes, now);
  while (!saves_.await(room_for(bytes, now), now.waits ? step : milliseconds(0))) {
    if (!now.waits) refuse_for_now();
    look_for_stop();
  }
  if (at) at->make_room(bytes, where, saves_.bytes());
}

// No rank waits longer for the others than they take to answer.
void CheckpointContext::make_room_together(const comm::Call &call,
                                           const std::function<uint64_t()> &count_bytes) {
  const SaveLimits now = limits();
  std::optional<uint64_t> bytes;
  for (bool all = false; !all;) {
    const std::vector<std::string> answers = comm::all_agree(communicator_, call, [&] {
      if (!bytes) check_size(bytes.emplace(count_bytes()), now);
      const bool has_room =
          saves_.await(room_for(*bytes, now), now.waits ? step_together : milliseconds(0));
      if (!has_room && !now.waits) refuse_for_now();
      look_for_stop();
      return std::string(has_room ? "ready" : "");
    });
    all = std::ranges::count(answers, "") == 0;
  }
}

// So that a save which blocks does not overtake them.
void CheckpointContext::settle_earlier_saves() {
  while (!saves_.await({}, step)) look_for_stop();
}

void CheckpointContext::settle_earlier_saves_together(const comm::Call &call) {
  for (bool all = !saves_together_; !all;) {
    const std::vector<std::string> answers = comm::all_agree(communicator_, call, [&] {
      look_for_stop();
      return std::string(saves_.await({}, step_together) ? "ready" : "");
    });
    all = std::ranges::count(answers, "") == 0;
  }
  settle_earlier_saves();
}

std::shared_ptr<SaveTicket> CheckpointContext::begin_save(Save save) {
  auto ticket = std::make_shared<SaveTicket>(save.writer->id(), SavePart::all);
  save.writer->seal(owner_of_saves(master_.info()));
  const uint64_t bytes = save.bytes;
  saves_.add(ticket, bytes, [this, save = std::move(save)](SaveTicket &own) { work(own, save); });
  return ticket;
}

// `copy` is this rank's part in the call. Nothing is left where it fails on any rank.
std::shared_ptr<SaveTicket> CheckpointContext::begin_save_together(const comm::Call &call,
                                                                   Save save, const Copy &copy) {
  saves_together_ = true;
  const std::string &id = save.writer->id();
  const bool is_chief = communicator_.is_chief();
  auto ticket = std::make_shared<SaveTicket>(id, is_chief ? SavePart::chief : SavePart::other);
  const auto add = [&] {
    saves_.add(ticket, save.bytes, [this, save](SaveTicket &own) { work(own, save); });
  };
  try {
    comm::all_agree(communicator_, call, [&] {
      copy(save);
      save.writer->promise_share(communicator_.ranks().rank);
      if (!is_chief) add();
      return std::string();
    });
    comm::chief_decides(communicator_, call, [&] {
      save.writer->seal(owner_of_saves(master_.info()));
      add();
      return std::string();
    });
  } catch (...) {
    ticket->cancel();
    throw;
  }
  return ticket;
}

void CheckpointContext::work(SaveTicket &ticket, const Save &save) {
  const storage::Progress progress(
      [&ticket](const storage::ProgressCount &count) { ticket.count(count); });
  if (save.stage) return publish_staged(*save.writer, *save.stage, save.metadata, &ticket);
  if (!ticket.is_of_all_ranks()) return publish(*save.writer, save.metadata, {}, &ticket);
  if (!communicator_.is_chief()) return hand_in(ticket, save);
  std::vector<std::string> shares{save.writer->finish(save.paths)};
  for (int rank = 1; rank < communicator_.ranks().size; ++rank)
    shares.push_back(await_share(ticket, save, rank));
  std::erase(shares, std::string());
  publish(*save.writer, save.metadata, shares, &ticket);
}

void CheckpointContext::hand_in(SaveTicket &ticket, const Save &save) {
  std::exception_ptr thrown;
  const std::string outcome = comm::outcome_of([&] {
    try {
      std::string share = save.writer->finish(save.paths);
      train_.give_way_to_reports();  // the chief can only wait for its own
      ticket.settle();
      return share;
    } catch (...) {
      thrown = std::current_exception();
      throw;
    }
  });
  try {
    save.writer->leave_share(communicator_.ranks().rank, outcome);
  } catch (const Error &) {
    if (!thrown) throw;
  }
  if (thrown) std::rethrow_exception(thrown);
}

std::string CheckpointContext::await_share(const SaveTicket &ticket, const Save &save, int rank) {
  for (milliseconds pause{1};; pause = std::min(pause * 2, step)) {
    ticket.check();
    if (const std::optional<std::string> outcome = save.writer->take_share(rank))
      return comm::value_in(*outcome, "rank " + std::to_string(rank));
    std::this_thread::sleep_for(pause);
  }
}

bool CheckpointContext::wait(SaveTicket &ticket, std::optional<milliseconds> limit) {
  if (gate_.in_child()) gate_.check();
  const profiler::LibraryCall timed(train_.regions());
  const auto end = std::chrono::steady_clock::now() + limit.value_or(milliseconds(0));
  const auto left = [&](milliseconds most) {
    if (!limit) return most;
    const auto rest = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    return std::clamp(rest, milliseconds(0), most);
  };
  const bool together = ticket.is_of_all_ranks() && communicator_.ranks().size > 1;
  if (!together || !gate_.open()) {
    while (!ticket.await_end(left(step)))
      if (left(step) == milliseconds(0)) return false;
    ticket.rethrow();
    if (ticket.state() != SaveState::saved)
      throw Error(Code::state, "waiting for checkpoint " + ticket.id() +
                                   ": this core is closed, and only rank 0 knows how it ended");
    return true;
  }
  const comm::Call call{comm::ApiCall::ticket_wait, ticket.id()};
  for (;;) {
    const std::string verdict = comm::chief_decides(communicator_, call, [&] {
      if (ticket.await_end(left(step_together))) {
        ticket.rethrow();
        return std::string("saved");
      }
      return std::string(left(step) == milliseconds(0) ? "late" : "");
    });
    if (verdict == "saved") ticket.learn(SaveState::saved);
    if (!verdict.empty()) return verdict == "saved";
  }
}

void CheckpointContext::cancel(SaveTicket &ticket) {
  if (gate_.in_child()) gate_.check();
  ticket.cancel();
  const auto end = [&] {
    ticket.await_end(std::nullopt);
    if (ticket.state() == SaveState::saved)
      throw Error(Code::state, "cancelling checkpoint " + ticket.id() +
                                   ": it was saved before; det_checkpoint_delete() removes it");
    static_cast<void>(ticket.take_failure());
    return std::string();
  };
  if (!ticket.is_of_all_ranks() || communicator_.ranks().size == 1 || !gate_.open()) {
    end();
    return;
  }
  comm::chief_decides(communicator_, {comm::ApiCall::ticket_cancel, ticket.id()}, end);
  ticket.await_end(std::nullopt);
  ticket.learn(SaveState::cancelled);
}

void CheckpointContext::finish_saves(std::optional<milliseconds> limit) {
  constexpr std::chrono::seconds silence{10};
  const auto begun = std::chrono::steady_clock::now();
  while (!saves_.await({}, limit ? std::min<milliseconds>(*limit, silence) : silence)) {
    if (limit && std::chrono::steady_clock::now() - begun >= *limit) break;
    const std::shared_ptr<SaveTicket> first = saves_.first();
    if (!first) continue;
    const storage::ProgressCount count = first->progress();
    logger_.warning("closing: waiting for checkpoint ", first->id(), " to be saved, ",
                    std::to_string(count.bytes), " of ", std::to_string(count.total_bytes),
                    " bytes are done");
  }
  saves_.rethrow_failure("closing");
}

}  // namespace det::context
