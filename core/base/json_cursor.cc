#include "core/base/json_cursor.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text/printable.h"

namespace det {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool ends_value(char c) { return c == ',' || c == '}' || c == ']' || is_space(c); }

// Behind the string that begins at `at`; or the end of `text`.
size_t end_of_string(std::string_view text, size_t at) {
  while (++at < text.size() && text[at] != '"')
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number number{};
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// A number as the parser makes it of the text, unless it is none or out of range.
std::optional<Json> quick_number(std::string_view text) {
  const bool negative = text[0] == '-';
  if (!negative && (text[0] < '0' || text[0] > '9')) return std::nullopt;
  if (negative) {
    if (const auto number = number_from<int64_t>(text)) return *number;
  } else if (const auto number = number_from<uint64_t>(text)) {
    return *number;
  }
  if (const auto number = number_from<double>(text)) return *number;
  return std::nullopt;
}

// A string of which no character is written with an escape.
std::optional<Json> quick_string(std::string_view text) {
  if (text[0] != '"' || !is_plain(text) || text.find('\\') != text.npos) return std::nullopt;
  if (text.size() < 2 || text.back() != '"') return std::nullopt;
  return Json(text.substr(1, text.size() - 2));
}

}  // namespace

bool JsonCursor::next_member(std::string_view &name) {
  if (leave('}')) return false;
  if (peek() != '"') fail();
  const std::string_view quoted = take_front(value_size());
  if (quoted.size() < 2) fail();
  name = quoted.substr(1, quoted.size() - 2);
  if (name.find('\\') != name.npos) {
    name_ = parse_json(quoted, what_).get<std::string>();
    name = name_;
  }
  take(':');
  return true;
}

bool JsonCursor::next_element() { return !leave(']'); }

bool JsonCursor::at_object() { return peek() == '{'; }

std::string_view JsonCursor::text() {
  peek();
  return take_front(value_size());
}

Json JsonCursor::value() {
  const std::string_view value = text();
  if (auto number = quick_number(value)) return *std::move(number);
  if (auto string = quick_string(value)) return *std::move(string);
  return parse_json(value, what_);
}

// The next character that is no space.
char JsonCursor::peek() {
  while (!rest_.empty() && is_space(rest_[0])) rest_.remove_prefix(1);
  if (rest_.empty()) fail();
  return rest_[0];
}

void JsonCursor::take(char character) {
  if (peek() != character) fail();
  rest_.remove_prefix(1);
}

// What is entered ends here, or there is more of it.
bool JsonCursor::leave(char bracket) {
  const char next = peek();
  if (next != bracket && next != ',') return false;
  rest_.remove_prefix(1);
  return next == bracket;
}

size_t JsonCursor::value_size() const {
  const std::string_view text = rest_;
  if (text[0] == '"') return end_of_string(text, 0);
  if (text[0] == '{' || text[0] == '[') return container_size(text);
  size_t size = 0;
  while (size < text.size() && !ends_value(text[size])) ++size;
  if (size == 0) fail();
  return size;
}

size_t JsonCursor::container_size(std::string_view text) const {
  size_t depth = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      continue;
    }
    ++at;
    if (c < '[') continue;  // numbers and what is between values
    if (c == '{' || c == '[') ++depth;
    else if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  fail();
}

std::string_view JsonCursor::take_front(size_t size) {
  const std::string_view front = rest_.substr(0, size);
  rest_.remove_prefix(front.size());
  return front;
}

void JsonCursor::fail() const {
  throw Error(Code::invalid, std::string("reading ") + what_ + ": not valid JSON" +
                                 (rest_.empty() ? ": it ends too early" : ""));
}

}  // namespace det
