#include "core/client/trace.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/profiler/regions/regions.h"
#include "core/profiler/regions/trace_reader.h"

namespace det::client {

// Events in the Trace Event format, which Perfetto and chrome://tracing show.
class TraceEvents {
 public:
  // Times are counted from here, in nanoseconds since 1970: the format has numbers of 53 bits.
  explicit TraceEvents(int64_t begin_ns);

  // Gives the number of the process.
  int64_t add_process(const std::string &name);
  void name_thread(int64_t process, int64_t thread, const std::string &name);
  // Slices of one thread lie within each other or apart. `arguments` is a JSON object, or empty.
  void add_slice(int64_t process, int64_t thread, std::string_view name, int64_t begin_ns,
                 int64_t end_ns, const std::string &arguments = {});
  void add_counter(int64_t process, std::string_view name, int64_t time_ns, double value);

  // The whole, as JSON. Nothing may be added afterwards.
  std::string finish();

 private:
  void begin(const char *phase, int64_t process, int64_t thread, std::string_view name);
  void add_time(const char *key, int64_t ns);
  void add_name(const char *what, int64_t process, int64_t thread, const std::string &name);

  const int64_t begin_ns_;
  int64_t processes_ = 0;
  std::string text_;
};

TraceEvents::TraceEvents(int64_t begin_ns)
    : begin_ns_(begin_ns),
      text_(R"({"displayTimeUnit":"ms","otherData":{"begin":")" + iso8601(begin_ns / 1000) +
            R"("},"traceEvents":[)") {}

int64_t TraceEvents::add_process(const std::string &name) {
  const int64_t process = ++processes_;
  add_name("process_name", process, 0, name);
  begin("M", process, 0, "process_sort_index");
  text_ += R"(,"args":{"sort_index":)" + std::to_string(process) + "}}";
  return process;
}

void TraceEvents::name_thread(int64_t process, int64_t thread, const std::string &name) {
  add_name("thread_name", process, thread, name);
}

void TraceEvents::add_slice(int64_t process, int64_t thread, std::string_view name,
                            int64_t begin_ns, int64_t end_ns, const std::string &arguments) {
  begin("X", process, thread, name);
  add_time("ts", begin_ns - begin_ns_);
  add_time("dur", end_ns - begin_ns);
  if (!arguments.empty()) text_ += R"(,"args":)" + arguments;
  text_ += '}';
}

void TraceEvents::add_counter(int64_t process, std::string_view name, int64_t time_ns,
                              double value) {
  begin("C", process, 0, name);
  add_time("ts", time_ns - begin_ns_);
  text_ += R"(,"args":{"value":)";
  append_number(text_, value);
  text_ += "}}";
}

std::string TraceEvents::finish() {
  text_ += "\n]}\n";
  return std::move(text_);
}

void TraceEvents::begin(const char *phase, int64_t process, int64_t thread, std::string_view name) {
  text_ += text_.back() == '[' ? "\n" : ",\n";
  text_ += std::string(R"({"ph":")") + phase + R"(","pid":)" + std::to_string(process) +
           R"(,"tid":)" + std::to_string(thread) + R"(,"name":)" + to_wire(name);
}

// In microseconds.
void TraceEvents::add_time(const char *key, int64_t ns) {
  std::array<char, 64> number{};
  std::snprintf(number.data(), number.size(), ",\"%s\":%" PRId64 ".%03d", key, ns / 1000,
                static_cast<int>(ns % 1000));
  text_ += number.data();
}

void TraceEvents::add_name(const char *what, int64_t process, int64_t thread,
                           const std::string &name) {
  begin("M", process, thread, what);
  text_ += R"(,"args":{"name":)" + to_wire(name) + "}}";
}

namespace {

// The newest ones, of a trial that reports without end.
constexpr int64_t most_reports = 50'000;
// Where sums stand, which are of no thread.
constexpr int64_t sums_thread = 0;

int64_t number_in(const Json &report, const char *key) {
  const Json &value = report.at(key);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

std::optional<int64_t> time_of(const Json &report) {
  const Json &time = report.at("time");
  const std::optional<int64_t> us =
      time.is_string() ? parse_iso8601(time.get<std::string>()) : std::nullopt;
  return us ? std::optional(*us * 1000) : std::nullopt;
}

// Of a region in a report: {"seconds", "count", "share"}.
bool is_sum(const Json &value) {
  const auto is_number = [&](const char *key) {
    return value.contains(key) && value.at(key).is_number();
  };
  return value.is_object() && is_number("seconds") && is_number("count") && is_number("share");
}

// By path.
Json sums_in(const Json &values) {
  Json sums = Json::object();
  for (const auto &[path, value] : values.items())
    if (is_sum(value)) sums[path] = value;
  return sums;
}

// Slices for what was spent in an interval: not when, which a sum does not tell, but how much, one
// behind the other.
class SumSlices {
 public:
  SumSlices(TraceEvents &events, int64_t process, int64_t earliest_ns, int64_t end_ns,
            const Json &sums)
      : events_(events), process_(process) {
    for (const auto &[path, sum] : sums.items()) {
      const double share = sum.at("share").get<double>();
      if (share > 0) passed_ = std::max(passed_, sum.at("seconds").get<double>() / share);
      // What the library took is a part of the others.
      if (path == profiler::Regions::library_name)
        events.add_counter(process, path + " share", end_ns, share);
      else sums_[path] = &sum;
    }
    if (!(passed_ < 1e6)) return;
    const int64_t begin_ns = std::max<int64_t>(earliest_ns, end_ns - std::llround(passed_ * 1e9));
    if (begin_ns < end_ns) lay("", begin_ns, end_ns - begin_ns);
  }

 private:
  // Those directly below `parent`, within its time.
  void lay(const std::string &parent, int64_t begin, int64_t length) {
    std::vector<std::pair<std::string, double>> below;
    double total = 0;
    for (auto it = sums_.lower_bound(parent); it != sums_.end(); ++it) {
      if (!it->first.starts_with(parent)) break;
      if (it->first.find('/', parent.size()) != std::string::npos) continue;
      below.emplace_back(it->first, std::max(0.0, it->second->at("seconds").get<double>()) * 1e9);
      total += below.back().second;
    }
    // Several threads spend more than there is.
    const double scale =
        total > static_cast<double>(length) ? static_cast<double>(length) / total : 1;
    const int64_t end = begin + length;
    for (const auto &[path, ns] : below) {
      const int64_t own = std::min(std::llround(ns * scale), static_cast<long long>(end - begin));
      events_.add_slice(process_, sums_thread, std::string_view(path).substr(parent.size()), begin,
                        begin + own, to_wire(*sums_[path]));
      lay(path + '/', begin, own);
      begin += own;
    }
  }

  TraceEvents &events_;
  const int64_t process_;
  std::map<std::string, const Json *> sums_;
  double passed_ = 0;
};

class TrialTrace {
 public:
  TrialTrace(Client &client, int64_t trial_id) {
    for (const std::filesystem::path &file : client.trace_files(trial_id)) read(file);
    read_reports(client, trial_id, std::nullopt);
    // Those of the profiler not every master lists with the others.
    for (const char *group : {"gpu", "cpu", "memory", "disk", "network"})
      if (std::ranges::none_of(reports_, [&](const Json &one) { return one.at("group") == group; }))
        read_reports(client, trial_id, group);
  }

  std::string text() {
    begin_ns_ = first_ns();
    TraceEvents events(begin_ns_);
    for (const profiler::RankTrace &rank : ranks_) add(rank, events);
    for (auto report = reports_.rbegin(); report != reports_.rend(); ++report) add(*report, events);
    for (const std::string &failure : failures_) events.add_process(failure);
    return events.finish();
  }

 private:
  using Rank = std::pair<int64_t, int64_t>;  // run, rank

  // A damaged file does not keep the others from being shown.
  void read(const std::filesystem::path &file) try {
    ranks_.push_back(profiler::read_trace(file));
  } catch (const Error &error) {
    if (error.code != Code::not_found) failures_.emplace_back(error.what());
  }

  void read_reports(Client &client, int64_t trial_id, const std::optional<std::string> &group) {
    engine::Page page;
    page.descending = true;
    for (bool more = true; more && static_cast<int64_t>(reports_.size()) < most_reports;) {
      const Json list = client.list_metrics(trial_id, group, page);
      for (const Json &report : list.at("metrics"))
        if (time_of(report)) reports_.push_back(report);
      more = !list.at("next").is_null();
      if (more) page.after = list.at("next").get<int64_t>();
    }
  }

  int64_t first_ns() const {
    int64_t first = INT64_MAX;
    for (const profiler::RankTrace &rank : ranks_) first = std::min(first, rank.begin_ns);
    // Without files the first sums are of a time before all that is known.
    const int64_t before = ranks_.empty() ? longest_interval : 0;
    for (const Json &report : reports_) first = std::min(first, *time_of(report) - before);
    return first == INT64_MAX ? 0 : std::max<int64_t>(first, 0);
  }

  int64_t process_of(const Rank &rank, TraceEvents &events) {
    const auto [found, is_new] = processes_.try_emplace(rank, 0);
    if (is_new)
      found->second = events.add_process("run " + std::to_string(rank.first) + ", rank " +
                                         std::to_string(rank.second));
    return found->second;
  }

  void add(const profiler::RankTrace &rank, TraceEvents &events) {
    const int64_t process = process_of({rank.run_id, rank.rank}, events);
    int64_t &whole_from = whole_from_[{rank.run_id, rank.rank}];
    int64_t number = sums_thread;
    for (const profiler::TraceThread &thread : rank.threads) {
      std::string name = "thread " + std::to_string(thread.thread_id);
      if (thread.dropped > 0)
        name += ", without its first " + std::to_string(thread.dropped) + " regions";
      events.name_thread(process, ++number, name);
      int64_t first = INT64_MAX;
      for (const profiler::TraceSlice &slice : thread.slices) {
        events.add_slice(process, number, rank.names[slice.region], slice.begin_ns, slice.end_ns);
        first = std::min(first, slice.begin_ns);
      }
      if (thread.dropped > 0) whole_from = std::max(whole_from, first);
    }
  }

  void add(const Json &report, TraceEvents &events) {
    const Rank rank{number_in(report, "trial_run_id"), number_in(report, "rank")};
    const auto group = report.at("group").get<std::string>();
    add_values(report.at("metrics"), group, group == "regions", rank, *time_of(report), events);
  }

  // Values may stand in objects: of a rank, of an agent, of a device.
  void add_values(const Json &values, const std::string &name, bool of_regions, const Rank &rank,
                  int64_t time, TraceEvents &events) {
    const Json sums = of_regions ? sums_in(values) : Json::object();
    if (!sums.empty()) add_sums(sums, rank, time, events);
    for (const auto &[key, value] : values.items()) {
      if (sums.contains(key)) continue;
      if (value.is_object())
        add_values(value, name + " " + key, of_regions, rank_named(key, rank), time, events);
      else if (value.is_number() && std::isfinite(value.get<double>()))
        events.add_counter(process_of(rank, events), name + " " + key, time, value.get<double>());
    }
  }

  void add_sums(const Json &sums, const Rank &rank, int64_t time, TraceEvents &events) {
    const auto from = whole_from_.find(rank);
    if (from != whole_from_.end() && time > from->second) return;  // they are there themselves
    const int64_t process = process_of(rank, events);
    const auto [until, is_first] = sums_until_.try_emplace(rank, begin_ns_);
    if (is_first) events.name_thread(process, sums_thread, "sums of regions");
    SumSlices(events, process, until->second, time, sums);
    until->second = std::max(until->second, time);
  }

  static Rank rank_named(const std::string &key, const Rank &otherwise) {
    constexpr std::string_view prefix = "rank ";
    if (!key.starts_with(prefix)) return otherwise;
    return {otherwise.first, std::strtoll(key.c_str() + prefix.size(), nullptr, 10)};
  }

  // Between two reports, of a program that is not stopped in the meantime.
  static constexpr int64_t longest_interval = 60'000'000'000;

  int64_t begin_ns_ = 0;
  std::vector<profiler::RankTrace> ranks_;
  std::vector<Json> reports_;  // the newest first
  std::vector<std::string> failures_;
  std::map<Rank, int64_t> processes_;
  std::map<Rank, int64_t> whole_from_;  // since when no region of a rank is missing
  std::map<Rank, int64_t> sums_until_;
};

}  // namespace

std::string trial_trace(Client &client, int64_t trial_id) {
  return TrialTrace(client, trial_id).text();
}

}  // namespace det::client
