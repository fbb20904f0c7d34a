#include "core/context/checkpoint/background_saves.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint/checkpoint_metadata.h"
#include "core/context/train.h"
#include "core/storage/progress.h"

namespace det::context {

using std::chrono::milliseconds;

namespace {

// How long a rank waits before it lets the others know that it still does, or a caller stop it.
constexpr milliseconds step{200};
constexpr milliseconds step_together{1000};

void look_for_stop(storage::Progress *progress) {
  if (progress != nullptr) progress->tell();
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
  throw Error(
      Code::busy,
      "saving a checkpoint asynchronously: earlier ones are still under way, up to the limit of "
      "det_save_limits allows; wait for one of them");
}

}  // namespace

SaveQueue::SaveQueue() : state_(std::make_unique<State>()) {}

SaveQueue::~SaveQueue() {
  if (guard_.in_child()) static_cast<void>(state_.release());
  else if (state_->thread.joinable()) state_->thread.join();
}

bool SaveQueue::await(const Room &room, std::optional<std::chrono::milliseconds> limit) {
  std::unique_lock lock(state_->mutex);
  const auto has_room = [&] {
    uint64_t bytes = 0;
    for (const Save &save : state_->saves) bytes += save.bytes;
    return state_->saves.size() <= room.saves && bytes <= room.bytes;
  };
  if (limit) return state_->changed.wait_for(lock, *limit, has_room);
  state_->changed.wait(lock, has_room);
  return true;
}

void SaveQueue::add(std::shared_ptr<SaveTicket> ticket, uint64_t bytes, Work work) {
  const std::lock_guard lock(state_->mutex);
  state_->failed.reserve(state_->failed.size() + state_->saves.size() + 1);  // for its end
  state_->saves.push_back({std::move(ticket), bytes, std::move(work)});
  if (state_->runs) return;
  if (state_->thread.joinable()) state_->thread.join();  // it has let go of the mutex for good
  try {
    state_->thread = start_thread("det-saves", [state = state_.get()] { run(*state); });
  } catch (...) {
    state_->saves.pop_back();
    throw;
  }
  state_->runs = true;
}

void SaveQueue::run(State &state) {
  std::unique_lock lock(state.mutex);
  while (!state.saves.empty()) {
    Save &save = state.saves.front();  // stays where it is: others only add behind it
    lock.unlock();
    std::optional<Error> failure;
    try {
      save.ticket->check();
      save.ticket->begin();
      save.work(*save.ticket);
    } catch (const std::exception &thrown) {
      failure = as_error(thrown);
    }
    save.work = nullptr;
    lock.lock();
    const std::shared_ptr<SaveTicket> ticket = std::move(save.ticket);
    state.saves.pop_front();
    ticket->end(std::move(failure));
    if (ticket->state() == SaveState::failed) state.failed.push_back(ticket);
    state.changed.notify_all();
  }
  state.runs = false;
}

void SaveQueue::rethrow_failure(const std::string &tried) {
  std::vector<std::shared_ptr<SaveTicket>> failed;
  {
    const std::lock_guard lock(state_->mutex);
    failed.swap(state_->failed);
    state_->failed.reserve(state_->saves.size());
  }
  std::optional<Error> first;
  std::string more;
  for (const std::shared_ptr<SaveTicket> &ticket : failed) {
    std::optional<Error> failure = ticket->take_failure();
    if (!failure) continue;
    if (first) more += " (and checkpoint " + ticket->id() + ": " + failure->what() + ")";
    else
      first.emplace(failure->code,
                    tried + ": the asynchronous save of checkpoint " + ticket->id() +
                        " failed before: " + failure->what(),
                    failure->os_errno, failure->http_status);
  }
  if (first)
    throw Error(first->code, first->what() + more, first->os_errno, first->http_status)
        .with_retry(false);
}

uint64_t SaveQueue::bytes() {
  const std::lock_guard lock(state_->mutex);
  uint64_t bytes = 0;
  for (const Save &save : state_->saves) bytes += save.bytes;
  return bytes;
}

bool SaveQueue::has(const std::string &id) {
  const std::lock_guard lock(state_->mutex);
  return std::ranges::any_of(state_->saves,
                             [&](const Save &save) { return save.ticket->id() == id; });
}

std::shared_ptr<SaveTicket> SaveQueue::first() {
  const std::lock_guard lock(state_->mutex);
  return state_->saves.empty() ? nullptr : state_->saves.front().ticket;
}

void BackgroundSaves::limit(const SaveLimits &limits) {
  run_.lifetime.check();
  const std::lock_guard guard(limits_mutex_);
  limits_ = limits;
}

SaveLimits BackgroundSaves::limits() {
  const std::lock_guard guard(limits_mutex_);
  return limits_;
}

void BackgroundSaves::stage_in(const std::filesystem::path &directory, uint64_t limit_bytes) {
  run_.lifetime.check();
  const auto turn = take_turn();
  std::shared_ptr<SaveStage> made;
  if (!directory.empty()) {
    made =
        std::make_shared<SaveStage>(directory, limit_bytes, run_.master.info().cluster_id,
                                    std::shared_ptr<Logger>(std::shared_ptr<void>(), &run_.logger));
    made->make_room(0, SaveStage::Bytes::come, 0);
    if (run_.communicator.is_chief())
      for (auto &writer : made->take_sealed(owner_of_saves(run_.master.info()))) {
        if (run_.master.checkpoints().knows(writer->id())) {
          made->keep(*writer);
          continue;
        }
        const std::filesystem::path path = writer->path();
        const Save save{std::move(writer), read_metadata(path), {}, 0, made};
        auto ticket = std::make_shared<SaveTicket>(save.writer->id(), SavePart::all);
        saves_.add(ticket, 0, [this, save](SaveTicket &own) { work(own, save); });
      }
  }
  if (run_.communicator.is_chief()) note_stage(run_.master, directory);
  stage_.set(std::move(made));
}

void BackgroundSaves::make_room(uint64_t bytes, SaveStage::Bytes where,
                                storage::Progress *progress) {
  SaveLimits now = limits();
  const std::shared_ptr<SaveStage> at = stage_.get();
  if (at) now.bytes = std::min(now.bytes, at->limit_bytes());
  check_size(bytes, now);
  while (!saves_.await(room_for(bytes, now), now.waits ? step : milliseconds(0))) {
    if (!now.waits) refuse_for_now();
    look_for_stop(progress);
  }
  if (at) at->make_room(bytes, where, saves_.bytes());
}

// No rank waits longer for the others than they take to answer.
void BackgroundSaves::make_room_together(const comm::Call &call,
                                         const std::function<uint64_t()> &count_bytes,
                                         storage::Progress *progress) {
  const SaveLimits now = limits();
  std::optional<uint64_t> bytes;
  for (bool all = false; !all;) {
    const std::vector<std::string> answers = comm::all_agree(run_.communicator, call, [&] {
      if (!bytes) check_size(bytes.emplace(count_bytes()), now);
      const bool has_room =
          saves_.await(room_for(*bytes, now), now.waits ? step_together : milliseconds(0));
      if (!has_room && !now.waits) refuse_for_now();
      look_for_stop(progress);
      return std::string(has_room ? "ready" : "");
    });
    all = std::ranges::count(answers, "") == 0;
  }
}

// So that a save which blocks does not overtake them.
void BackgroundSaves::settle(storage::Progress *progress) {
  while (!saves_.await({}, step)) look_for_stop(progress);
}

void BackgroundSaves::settle_together(const comm::Call &call, storage::Progress *progress) {
  for (bool all = !together_; !all;) {
    const std::vector<std::string> answers = comm::all_agree(run_.communicator, call, [&] {
      look_for_stop(progress);
      return std::string(saves_.await({}, step_together) ? "ready" : "");
    });
    all = std::ranges::count(answers, "") == 0;
  }
  settle(progress);
}

std::shared_ptr<SaveTicket> BackgroundSaves::begin(Save save) {
  auto ticket = std::make_shared<SaveTicket>(save.writer->id(), SavePart::all);
  save.writer->seal(owner_of_saves(run_.master.info()));
  const uint64_t bytes = save.bytes;
  saves_.add(ticket, bytes, [this, save = std::move(save)](SaveTicket &own) { work(own, save); });
  return ticket;
}

// `copy` is this rank's part in the call. Nothing is left where it fails on any rank.
std::shared_ptr<SaveTicket> BackgroundSaves::begin_together(const comm::Call &call, Save save,
                                                            const Copy &copy) {
  together_ = true;
  const std::string &id = save.writer->id();
  const bool is_chief = run_.communicator.is_chief();
  auto ticket = std::make_shared<SaveTicket>(id, is_chief ? SavePart::chief : SavePart::other);
  const auto add = [&] {
    saves_.add(ticket, save.bytes, [this, save](SaveTicket &own) { work(own, save); });
  };
  try {
    comm::all_agree(run_.communicator, call, [&] {
      copy(save);
      save.writer->promise_share(run_.communicator.ranks().rank);
      if (!is_chief) add();
      return std::string();
    });
    comm::chief_decides(run_.communicator, call, [&] {
      save.writer->seal(owner_of_saves(run_.master.info()));
      add();
      return std::string();
    });
  } catch (...) {
    ticket->cancel();
    throw;
  }
  return ticket;
}

// What an earlier attempt has stored of it already, where the storage can tell, is not sent again.
void BackgroundSaves::publish_staged(storage::CheckpointWriter &staged, SaveStage &stage,
                                     const Json &metadata, storage::Progress *progress,
                                     SaveTicket *ticket) {
  stage.give_free();
  staged.list();  // throws for what its storage would refuse
  const std::unique_ptr<storage::CheckpointWriter> writer =
      run_.storage.resume(staged.id(), staged.path());
  writer->add(staged.path(), std::nullopt, progress);
  catalog_.publish(*writer, metadata, {}, progress, ticket);
  stage.keep(staged, progress);
}

void BackgroundSaves::work(SaveTicket &ticket, const Save &save) {
  storage::Progress progress(
      [&ticket](const storage::ProgressCount &count) { ticket.count(count); });
  if (save.stage)
    return publish_staged(*save.writer, *save.stage, save.metadata, &progress, &ticket);
  if (!ticket.is_of_all_ranks())
    return catalog_.publish(*save.writer, save.metadata, {}, &progress, &ticket);
  if (!run_.communicator.is_chief()) return hand_in(ticket, save, &progress);
  std::vector<std::string> shares{save.writer->finish(save.paths, &progress)};
  for (int rank = 1; rank < run_.communicator.ranks().size; ++rank)
    shares.push_back(await_share(ticket, save, rank));
  std::erase(shares, std::string());
  catalog_.publish(*save.writer, save.metadata, shares, &progress, &ticket);
}

void BackgroundSaves::hand_in(SaveTicket &ticket, const Save &save, storage::Progress *progress) {
  std::exception_ptr thrown;
  const std::string outcome = comm::outcome_of([&] {
    try {
      std::string share = save.writer->finish(save.paths, progress);
      run_.train.delivery().give_way();  // the chief can only wait for its own
      ticket.settle();
      return share;
    } catch (...) {
      thrown = std::current_exception();
      throw;
    }
  });
  try {
    save.writer->leave_share(run_.communicator.ranks().rank, outcome);
  } catch (const Error &) {
    if (!thrown) throw;
  }
  if (thrown) std::rethrow_exception(thrown);
}

std::string BackgroundSaves::await_share(const SaveTicket &ticket, const Save &save, int rank) {
  for (milliseconds pause{1};; pause = std::min(pause * 2, step)) {
    ticket.check();
    if (const std::optional<std::string> outcome = save.writer->take_share(rank))
      return comm::value_in(*outcome, "rank " + std::to_string(rank));
    std::this_thread::sleep_for(pause);
  }
}

bool BackgroundSaves::wait(SaveTicket &ticket, std::optional<milliseconds> limit) {
  if (run_.lifetime.in_child()) run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  const auto end = std::chrono::steady_clock::now() + limit.value_or(milliseconds(0));
  const auto left = [&](milliseconds most) {
    if (!limit) return most;
    const auto rest = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    return std::clamp(rest, milliseconds(0), most);
  };
  const bool together = ticket.is_of_all_ranks() && run_.communicator.ranks().size > 1;
  if (!together || !run_.lifetime.open()) {
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
    const std::string verdict = comm::chief_decides(run_.communicator, call, [&] {
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

void BackgroundSaves::cancel(SaveTicket &ticket) {
  if (run_.lifetime.in_child()) run_.lifetime.check();
  ticket.cancel();
  const auto end = [&] {
    ticket.await_end(std::nullopt);
    if (ticket.state() == SaveState::saved)
      throw Error(Code::state, "cancelling checkpoint " + ticket.id() +
                                   ": it was saved before; det_checkpoint_delete() removes it");
    static_cast<void>(ticket.take_failure());
    return std::string();
  };
  if (!ticket.is_of_all_ranks() || run_.communicator.ranks().size == 1 || !run_.lifetime.open()) {
    end();
    return;
  }
  comm::chief_decides(run_.communicator, {comm::ApiCall::ticket_cancel, ticket.id()}, end);
  ticket.await_end(std::nullopt);
  ticket.learn(SaveState::cancelled);
}

void BackgroundSaves::finish(std::optional<milliseconds> limit) {
  constexpr std::chrono::seconds silence{10};
  const auto begun = std::chrono::steady_clock::now();
  while (!saves_.await({}, limit ? std::min<milliseconds>(*limit, silence) : silence)) {
    if (limit && std::chrono::steady_clock::now() - begun >= *limit) break;
    const std::shared_ptr<SaveTicket> first = saves_.first();
    if (!first) continue;
    const storage::ProgressCount count = first->progress();
    run_.logger.warning("closing: waiting for checkpoint ", first->id(), " to be saved, ",
                        std::to_string(count.bytes), " of ", std::to_string(count.total_bytes),
                        " bytes are done");
  }
  saves_.rethrow_failure("closing");
}

}  // namespace det::context
