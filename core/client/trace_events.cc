#include "core/client/trace_events.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "core/base/clock.h"
#include "core/base/json.h"

namespace det::client {

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

}  // namespace det::client
