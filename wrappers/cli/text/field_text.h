// Values of an answer as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wrappers/cli/library_client.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

// The value under `key`, or null.
const Json &field(const Json &entry, const char *key);

// A text without its quotes, other values as JSON; "-" for none.
std::string text_of(const Json &value);

// A number with six digits, also where JSON has no number for it; else as text_of().
std::string number_of(const Json &value);

// The number, or NaN where it is none.
double double_of(const Json &value);

// A time, in seconds since 1970.
std::optional<double> seconds_of(const Json &time);
std::optional<double> seconds_of(const std::string &text);

std::string percent_of(const Json &value);                  // "62%"
std::string bytes_of(const Json &value);                    // "1.5 MiB"
std::string age_of(const Json &value);                      // since a time: "3m", "2h", "5d"
std::string duration_text(double seconds);                  // "45s", "2m10s", "1h05m", "3d02h"
std::string duration_of(const Json &from, const Json &to);  // from a time to another, or to now
std::string clock_of(const Json &value);  // a time to the second, in UTC: "2026-01-31 12:00:00"

// One line of JSON with its end, as --json prints it. What steers a terminal is written as JSON's
// own escapes: for programs it is the same.
std::string json_line(const Json &value);
// The same of a value that is JSON text already.
std::string json_text_line(std::string_view json);

// One line of comma-separated values with its end: printable on a terminal, exact elsewhere. A text
// that a spreadsheet would take for a formula begins with an apostrophe.
std::string csv_line(const std::vector<std::string> &texts, const Terminal &terminal);

// text_of() for people: of a long list its first values and how many more there are, of a long text
// its beginning.
std::string brief_of(const Json &value);

// The values of an object, those of nested groups with dots in their names: "optimizer.lr".
std::vector<std::pair<std::string, Json>> flattened(const Json &object);

// Joins with ", ".
std::string joined(const std::vector<std::string> &texts);

}  // namespace det::cli
