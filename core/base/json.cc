#include "core/base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/base/uuid.h"

namespace {

template <class Value>
void destroy_value(Value *value) {
  if (value == nullptr) return;  // a constructor has failed
  std::destroy_at(value);
  std::allocator<Value>().deallocate(value, 1);
}

}  // namespace

#define DESTROY_WITHOUT_ALLOCATING(Kind)                     \
  template <>                                                \
  void nlohmann::Kind::json_value::destroy(value_t type) {   \
    if (type == value_t::object) destroy_value(object);      \
    else if (type == value_t::array) destroy_value(array);   \
    else if (type == value_t::string) destroy_value(string); \
    else if (type == value_t::binary) destroy_value(binary); \
  }

DESTROY_WITHOUT_ALLOCATING(ordered_json)
DESTROY_WITHOUT_ALLOCATING(json)

namespace det {

namespace {

constexpr size_t max_depth = 128;

struct NonFinite {
  std::string_view bare;
  double value;
};
constexpr std::array<NonFinite, 3> non_finite{{{"-Infinity", -HUGE_VAL},
                                               {"Infinity", HUGE_VAL},
                                               {"NaN", std::numeric_limits<double>::quiet_NaN()}}};

bool is_followed_by_colon(std::string_view text, size_t at) {
  at = text.find_first_not_of(" \t\r\n", at);
  return at != text.npos && text[at] == ':';
}

// A bare NaN is not JSON, so it travels through the parser as a text: `mark`, which the document
// does not hold, and its index. Gives whether there was any, with the new text in `out`.
bool quote_non_finite(std::string_view text, const std::string &mark, std::string &out) {
  bool in_string = false;
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    if (in_string) {
      if (text[i] == '\\' && i + 1 < text.size()) out += text[i++];
      else if (text[i] == '"') in_string = false;
      out += text[i++];
      continue;
    }
    in_string = text[i] == '"';
    const auto *match = std::find_if(non_finite.begin(), non_finite.end(), [&](const NonFinite &n) {
      return text.substr(i).starts_with(n.bare);
    });
    if (match == non_finite.end() || is_followed_by_colon(text, i + match->bare.size())) {
      out += text[i++];
    } else {
      out += '"' + mark + static_cast<char>('0' + (match - non_finite.begin())) + '"';
      i += match->bare.size();
      found = true;
    }
  }
  return found;
}

void restore_non_finite(Json &value, const std::string &mark) {
  if (value.is_structured()) {
    for (Json &child : value) restore_non_finite(child, mark);
  } else if (value.is_string()) {
    const auto &text = value.get_ref<const std::string &>();
    if (text.starts_with(mark)) value = non_finite.at(static_cast<size_t>(text.back() - '0')).value;
  }
}

// Makes a value of what the parser finds. The library's own way looks through all keys of an object
// before each new one, which takes seconds for a checkpoint of 50,000 files.
class JsonBuilder {
 public:
  explicit JsonBuilder(const std::string &what) : what_(what) {}

  Json take() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string &) { return add(value); }
  bool string(std::string &value) { return add(std::move(value)); }
  bool binary(Json::binary_t &value) { return add(Json::binary(std::move(value))); }
  bool start_object(size_t) { return begin(Json::object()); }
  bool start_array(size_t) { return begin(Json::array()); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string &name) {
    open_.back().key = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string &, const Json::exception &e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." → from "parse error"
    const char *detail = std::strstr(e.what(), "] ");
    throw Error(Code::invalid, "reading " + what_ + ": not valid JSON: " +
                                   (detail != nullptr ? detail + 2 : e.what()));
  }

 private:
  using Places = std::unordered_map<std::string, size_t>;
  struct Open {
    Json value;
    std::string key = {};
    std::unique_ptr<Places> places = {};  // of the keys, once they are many
  };
  static constexpr size_t many = 32;

  // Deep nesting would overflow the stack of whoever walks the value later.
  bool begin(Json container) {
    if (open_.size() == max_depth)
      throw Error(Code::invalid, "reading " + what_ + ": nested deeper than " +
                                     std::to_string(max_depth) + " levels");
    open_.push_back({std::move(container)});
    return true;
  }
  bool end() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }
  bool add(Json value) {
    if (open_.empty()) root_ = std::move(value);
    else if (open_.back().value.is_array()) open_.back().value.push_back(std::move(value));
    else set(open_.back(), std::move(value));
    return true;
  }
  // Of equal keys the last wins.
  static void set(Open &into, Json value) {
    auto &members = into.value.get_ref<Json::object_t &>();
    const size_t place = place_of(into, members);
    if (place < members.size())
      (members.begin() + static_cast<std::ptrdiff_t>(place))->second = std::move(value);
    else members.push_back({std::move(into.key), std::move(value)});
  }
  static size_t place_of(Open &into, const Json::object_t &members) {
    if (members.size() < many) {
      const auto found = std::ranges::find(members, into.key, &Json::object_t::value_type::first);
      return static_cast<size_t>(found - members.begin());
    }
    if (!into.places) {
      into.places = std::make_unique<Places>();
      for (const auto &[key, value] : members) into.places->emplace(key, into.places->size());
    }
    return into.places->try_emplace(into.key, members.size()).first->second;
  }

  const std::string &what_;
  Json root_;
  std::vector<Open> open_;
};

Json build_json(std::string_view text, const std::string &what) {
  JsonBuilder builder(what);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

void append_string(std::string &out, const std::string &text) {
  out += Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

void append_pretty(std::string &out, const Json &value, size_t indent) {
  if (value.is_structured() && !value.empty()) {
    const bool object = value.is_object();
    const std::string line = "\n" + std::string(indent + 2, ' ');
    out += object ? '{' : '[';
    bool first = true;
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (!first) out += ',';
      first = false;
      out += line;
      if (object) {
        append_string(out, it.key());
        out += ": ";
      }
      append_pretty(out, it.value(), indent + 2);
    }
    out += "\n" + std::string(indent, ' ');
    out += object ? '}' : ']';
  } else if (value.is_string()) {
    append_string(out, value.get_ref<const std::string &>());
  } else if (value.is_number_float()) {
    append_number(out, value.get<double>());
  } else {
    out += value.dump();
  }
}

bool is_non_finite(const Json &value) {
  return value.is_number_float() && !std::isfinite(value.get<double>());
}

bool has_non_finite(const Json &value) {
  return value.is_structured() ? std::ranges::any_of(value, has_non_finite) : is_non_finite(value);
}

void write_non_finite_as_texts(Json &value) {
  if (value.is_structured()) {
    for (Json &child : value) write_non_finite_as_texts(child);
  } else if (is_non_finite(value)) {
    std::string text;
    append_number(text, value.get<double>());
    value = std::move(text);
  }
}

std::string dump_text(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

[[noreturn]] void throw_not_packed(const std::string &what, const std::string &problem) {
  throw Error(Code::corrupt, "reading " + what + ": " + problem);
}

// The library reads nested CBOR on the stack, and texts in pieces within each other without asking
// the builder. What pack() writes has no such texts: each length is known. A message that ends too
// early is left to the library: it reads no further than this has.
void check_nesting(std::string_view bytes, const std::string &what) {
  constexpr unsigned text = 3, array = 4, object = 5, tag = 6;
  std::vector<uint64_t> to_come{1};  // values, in each container that is open
  while (!to_come.empty()) {
    if (to_come.back() == 0) {
      to_come.pop_back();
      continue;
    }
    --to_come.back();
    if (bytes.empty()) return;
    const auto head = static_cast<unsigned char>(bytes[0]);
    const unsigned kind = head >> 5U, info = head & 31U;
    if (info > 27 || kind == tag) throw_not_packed(what, "a message never has such a length");
    bytes.remove_prefix(1);
    const size_t digits = info < 24 ? 0 : size_t{1} << (info - 24U);
    if (bytes.size() < digits) return;
    uint64_t length = digits == 0 ? info : 0;
    for (size_t i = 0; i < digits; ++i)
      length = length << 8U | static_cast<unsigned char>(bytes[i]);
    bytes.remove_prefix(digits);
    if (kind == text || kind == text - 1) {
      if (bytes.size() < length) return;
      bytes.remove_prefix(length);
    } else if (kind == array || kind == object) {
      if (to_come.size() > max_depth)
        throw_not_packed(what, "nested deeper than " + std::to_string(max_depth) + " levels");
      to_come.push_back(std::min<uint64_t>(length, bytes.size()) * (kind == object ? 2 : 1));
    }
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string &what) {
  if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos)
    return build_json(text, what);
  const std::string mark = make_uuid();
  std::string quoted;
  if (!quote_non_finite(text, mark, quoted)) return build_json(text, what);
  Json value = build_json(quoted, what);
  restore_non_finite(value, mark);
  return value;
}

Json parse_json_object(std::string_view text, const std::string &what) {
  Json value = parse_json(text, what);
  if (!value.is_object())
    throw Error(Code::invalid, "reading " + what +
                                   ": expected a JSON object like {\"a\": 1}, got " +
                                   std::string(value.type_name()));
  return value;
}

std::string to_wire(const Json &value) {
  if (!has_non_finite(value)) return dump_text(value);
  Json copy = value;
  write_non_finite_as_texts(copy);
  return dump_text(copy);
}

std::string to_metadata_text(const Json &value) {
  std::string out;
  append_pretty(out, value, 0);
  return out;
}

std::string pack(const Json &value) {
  std::string bytes;
  Json::to_cbor(value, bytes);
  return bytes;
}

Json unpack(std::string_view bytes, const std::string &what) {
  check_nesting(bytes, what);
  JsonBuilder builder(what);
  try {
    Json::sax_parse(bytes.begin(), bytes.end(), &builder, Json::input_format_t::cbor);
  } catch (const Error &e) {
    throw Error(Code::corrupt, e.what());
  }
  return builder.take();
}

void erase_key(Json &object, std::string_view key) {
  auto &members = object.get_ref<Json::object_t &>();
  Json::object_t rest;
  rest.reserve(members.size());
  for (const auto &[name, value] : members)
    if (name != key) rest.emplace_back(name, nullptr);
  auto kept = rest.begin();
  for (auto &[name, value] : members)
    if (name != key) (kept++)->second.swap(value);
  members.swap(rest);
}

void append_number(std::string &out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  char buffer[400];
  // Positional between 1e-4 and 1e16, as Python's repr() has it.
  const double magnitude = std::fabs(value);
  const bool positional = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto format = positional ? std::chars_format::fixed : std::chars_format::scientific;
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, format);
  const std::string_view text(buffer, static_cast<size_t>(result.ptr - buffer));
  out += text;
  if (positional && text.find('.') == text.npos) out += ".0";
}

}  // namespace det
