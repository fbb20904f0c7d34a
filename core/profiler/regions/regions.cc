#include "core/profiler/regions/regions.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text/utf8.h"
#include "core/base/thread.h"

namespace det::profiler {

namespace {

uint64_t next_id() noexcept {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

int32_t thread_id() noexcept { return static_cast<int32_t>(syscall(SYS_gettid)); }

bool is_gone(int32_t thread) noexcept {
  return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH;
}

void check_name(std::string_view text) {
  const auto refuse = [&](const std::string &why) {
    throw Error(Code::invalid,
                "naming the region '" + std::string(text.substr(0, 80)) + "': " + why);
  };
  if (text.empty() || text.size() > max_region_name)
    refuse("a name has 1 to " + std::to_string(max_region_name) + " bytes");
  if (!is_utf8(text)) refuse("it is not in UTF-8");
  const auto is_forbidden = [](char c) { return c == '/' || static_cast<unsigned char>(c) < ' '; };
  if (std::any_of(text.begin(), text.end(), is_forbidden))
    refuse(
        "it has a '/' or a control character; regions within others get their paths by themselves");
  if (text == Regions::library_name) refuse("that is the name of the library's own");
}

}  // namespace

bool Lane::end_outer(Region region, uint32_t depth, uint64_t now) noexcept {
  uint32_t found = depth;
  while (found > 0 && record_.open[found - 1].region.load(std::memory_order_relaxed) != region)
    --found;
  if (found == 0) return false;
  for (; depth >= found; --depth) end_innermost(depth, now);
  return true;
}

void Lane::abandon() noexcept {
  const Change change(record_);
  record_.depth.store(0, std::memory_order_release);
  path_ = 0;
  left_out_ = 0;
}

void Lane::leave_out() noexcept {
  ++left_out_;
  full_.store(true, std::memory_order_relaxed);
}

uint8_t Lane::make_path_below(Region region) noexcept {
  const uint32_t number = used_paths_.load(std::memory_order_relaxed);
  if (number == max_paths) return 0;
  Path &path = paths_[number];
  path.parent.store(path_, std::memory_order_relaxed);
  path.region.store(region, std::memory_order_relaxed);
  paths_[path_].below[region].store(static_cast<uint8_t>(number), std::memory_order_relaxed);
  used_paths_.store(number + 1, std::memory_order_release);
  return static_cast<uint8_t>(number);
}

// A thread that begins and ends without a pause could keep a reader for ever; what it reads then is
// off by one region.
std::vector<PathSum> Lane::sums(uint64_t now) const {
  constexpr int attempts = 100;
  for (int attempt = 1;; ++attempt) {
    const uint64_t before = record_.version.load(std::memory_order_acquire);
    std::vector<PathSum> read = read_sums(now);
    const bool is_whole =
        before % 2 == 0 && record_.version.load(std::memory_order_relaxed) == before;
    if (is_whole || attempt == attempts) return read;
  }
}

std::vector<PathSum> Lane::read_sums(uint64_t now) const {
  std::vector<PathSum> read;
  const uint32_t count = used_paths_.load(std::memory_order_acquire);
  read.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const Path &path = paths_[i];
    read.push_back(
        {path.parent.load(std::memory_order_relaxed), path.region.load(std::memory_order_relaxed),
         path.ticks.load(std::memory_order_acquire), path.count.load(std::memory_order_acquire)});
  }
  const uint32_t depth = record_.depth.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < depth && i < max_region_depth; ++i) {
    const uint64_t begin = record_.open[i].begin.load(std::memory_order_acquire);
    const uint8_t path = record_.open[i].path.load(std::memory_order_acquire);
    if (path < count && now > begin) read[path].ticks += now - begin;
  }
  return read;
}

Regions::Regions(TickClock clock)
    : id_(next_id()),
      clock_(clock),
      first_(clock_.mark()),
      first_time_us_(now_us()),
      taken_(first_) {}

Regions::~Regions() {
  if (file_) file_->note_time(clock_.mark());
}

void Regions::keep_trace(const std::filesystem::path &path, const JournalKey &rank) {
  trace_path_ = path;
  trace_rank_ = rank;
}

Region Regions::name(std::string_view text) {
  check_name(text);
  const std::unique_lock lock(mutex_);
  const bool is_first = name_.empty();
  if (is_first) {
    name_.emplace_back(library_name);
    taken_ = clock_.mark();
    open_trace();
  }
  const auto found = std::find(name_.begin() + 1, name_.end(), text);
  const auto number = static_cast<Region>(found - name_.begin());
  if (found != name_.end()) return number;
  if (name_.size() == max_regions)
    throw Error(Code::invalid, "naming the region '" + std::string(text) + "': there are " +
                                   std::to_string(max_regions - 1) +
                                   " others already; name phases, not single steps");
  name_.emplace_back(text);
  if (file_) file_->add_name(text);
  names_.store(static_cast<int32_t>(name_.size()), std::memory_order_release);
  if (is_first && begun_) begun_();
  return number;
}

void Regions::open_trace() {
  if (trace_path_.empty()) return;
  try {
    file_ = std::make_unique<TraceFile>(trace_path_, trace_rank_, first_, first_time_us_);
    file_->add_name(library_name);
    file_->note_time(clock_.mark());
  } catch (const std::exception &failure) {
    warnings_.push_back(std::string("keeping regions for a trace: ") + failure.what() +
                        "; they are summed up all the same");
  }
}

void Regions::refuse(int32_t number) {
  throw Error(Code::invalid, "beginning or ending region " + std::to_string(number) +
                                 ": there is no such region; name it first");
}

void Regions::refuse_end(Region region) const {
  const std::lock_guard lock(mutex_);
  throw Error(Code::state, "ending the region '" + name_[region] +
                               "': this thread has not begun it, or ended it before");
}

// Where there is no memory for it, or no room, the thread goes without.
Lane *Regions::claim_lane() noexcept {
  if (claim_.thread == 0) claim_.thread = next_id();
  Lane *lane = nullptr;
  try {
    lane = find_lane(claim_.thread);
  } catch (const std::exception &) {
  }
  claim_.regions = id_;
  claim_.lane = lane;
  return lane;
}

Lane *Regions::find_lane(uint64_t thread) {
  const std::lock_guard lock(mutex_);
  const int32_t here = thread_id();
  for (Owned &owned : lanes_)
    if (owned.thread == thread) return owned.lane.get();
  const auto take = [&](Owned &owned) {
    owned.thread = thread;
    owned.record->thread_id.store(here);
    return owned.lane.get();
  };
  for (Owned &owned : lanes_) {
    const int32_t former = owned.record->thread_id.load();
    if (former != here && !is_gone(former)) continue;
    owned.lane->abandon();
    return take(owned);
  }
  if (lanes_.size() == max_lanes) {
    if (!std::exchange(told_threads_, true))
      warnings_.push_back("measuring regions: more than " + std::to_string(max_lanes) +
                          " threads have some; those of the others are left out");
    return nullptr;
  }
  Owned owned;
  try {
    if (file_) owned.record = &file_->add_lane();
  } catch (const Error &failure) {
    warnings_.push_back(std::string("keeping regions for a trace: ") + failure.what() +
                        "; those of further threads are only summed up");
  }
  if (owned.record == nullptr) {
    owned.memory = std::make_unique<TraceLane>();
    owned.record = owned.memory.get();
  }
  owned.lane = std::make_unique<Lane>(*owned.record);
  lanes_.push_back(std::move(owned));
  return take(lanes_.back());
}

std::map<std::string, Regions::Ticks> Regions::total(Ticks &in_library) {
  std::map<std::string, Ticks> total;
  const uint64_t now = clock_.now();
  for (const Owned &owned : lanes_) {
    const std::vector<PathSum> sums = owned.lane->sums(now);
    in_library.count += owned.lane->calls();
    in_library.ticks += owned.lane->sampled_ticks();
    std::vector<std::string> paths(sums.size());
    for (size_t i = 1; i < sums.size(); ++i) {  // parents stand before what is in them
      const PathSum &sum = sums[i];
      if (sum.parent != 0) paths[i] = paths[sum.parent] + '/';
      paths[i] += name_[sum.region];
      Ticks &to = sum.region == library ? in_library : total[paths[i]];
      to.ticks += sum.ticks;
      to.count += sum.count;
    }
    if (owned.lane->full() && !std::exchange(told_full_, true))
      warnings_.push_back(
          "measuring regions: some are more than " + std::to_string(max_region_depth) +
          " deep in each other, or in too many different orders; they are left out");
  }
  return total;
}

// A sum that was read while it changed may be behind the one before.
RegionSum Regions::since(const Ticks &now, Ticks &before, double passed) const {
  RegionSum sum;
  const double ns = nanoseconds_per_tick(first_, taken_);
  if (now.ticks > before.ticks)
    sum.seconds = static_cast<double>(now.ticks - before.ticks) * ns / 1e9;
  if (now.count > before.count) sum.count = now.count - before.count;
  sum.share = passed > 0 ? sum.seconds / passed : 0;
  before = {std::max(now.ticks, before.ticks), std::max(now.count, before.count)};
  return sum;
}

std::optional<RegionReport> Regions::take() {
  const std::lock_guard lock(mutex_);
  if (name_.empty()) return std::nullopt;
  const TickMark mark = clock_.mark();
  RegionReport report;
  report.seconds = static_cast<double>(mark.monotonic_ns - taken_.monotonic_ns) / 1e9;
  taken_ = mark;
  if (file_) file_->note_time(mark);
  Ticks in_library;
  for (const auto &[path, ticks] : total(in_library)) {
    const RegionSum sum = since(ticks, taken_regions_[path], report.seconds);
    if (sum.seconds > 0 || sum.count > 0) report.regions.emplace(path, sum);
  }
  report.library = since(in_library, taken_library_, report.seconds);
  return report;
}

std::vector<std::string> Regions::take_warnings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

// A thread of the library's own takes no time from the program.
Lane *LibraryCall::begin() noexcept {
  if (is_thread_of_ours()) return nullptr;
  Lane *lane = regions_.lane_of_this_thread();
  if (lane == nullptr || lane->is_innermost(Regions::library)) return nullptr;
  lane->begin(Regions::library, regions_.clock_.now());
  return lane;
}

}  // namespace det::profiler
