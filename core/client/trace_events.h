// Events in the Trace Event format, which Perfetto and chrome://tracing show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace det::client {

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

}  // namespace det::client
