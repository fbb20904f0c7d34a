#include "core/config/experiment/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_fwd.h"
#include "core/base/text/base64.h"
#include "core/base/text/utf8.h"

namespace det::config {

namespace {

// The events of a YAML text, as libyaml reads it, and what is wrong with one that is none.
class YamlEvents {
 public:
  explicit YamlEvents(const std::string &text);
  YamlEvents(const YamlEvents &) = delete;
  YamlEvents &operator=(const YamlEvents &) = delete;
  ~YamlEvents();

  // Valid until the next call. Throws YamlError.
  const yaml_event_t &next();

 private:
  [[noreturn]] void refuse_text() const;
  [[noreturn]] void refuse_bytes() const;

  std::string text_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

// The value of four hexadecimal digits behind a \u at `at`; 0 where there is no such escape.
uint32_t escaped(const std::string &text, size_t at) {
  if (text.compare(at, 2, "\\u") != 0 || at + 6 > text.size()) return 0;
  uint32_t value = 0;
  const char *first = text.data() + at + 2;
  const auto [stop, error] = std::from_chars(first, first + 4, value, 16);
  return error == std::errc() && stop == first + 4 ? value : 0;
}

// JSON writes characters beyond 16 bits as two escapes, YAML as one.
std::string with_yaml_escapes(const std::string &json) {
  std::string yaml;
  for (size_t at = 0; at < json.size();) {
    const uint32_t high = json[at] == '\\' ? escaped(json, at) : 0;
    const uint32_t low = high >> 10U == 0x36 ? escaped(json, at + 6) : 0;
    // An escaped backslash is no start of an escape.
    size_t taken = json[at] == '\\' && at + 1 < json.size() ? 2 : 1;
    if (low >> 10U == 0x37) {
      std::array<char, 11> escape{};
      std::snprintf(escape.data(), escape.size(), "\\U%08x",
                    0x10000 + ((high & 0x3ffU) << 10U) + (low & 0x3ffU));
      yaml += escape.data();
      taken = 12;
    } else {
      yaml.append(json, at, taken);
    }
    at += taken;
  }
  return yaml;
}

bool is_json(const std::string &text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != text.npos && text[begin] == '{';
}

// The line of that number, from 0, without its end; empty behind the last.
std::string_view line_at(std::string_view text, size_t number) {
  for (; number > 0; --number)
    text.remove_prefix(text.find('\n') != text.npos ? text.find('\n') + 1 : text.size());
  return text.substr(0, std::min(text.find_first_of("\r\n"), text.size()));
}

bool has_tab_indent(std::string_view line) {
  const size_t first = line.find_first_not_of(' ');
  return first != line.npos && line[first] == '\t';
}

// The rest of a line from the column, from 0, without a comment and not too long to be quoted.
std::string word_at(std::string_view line, size_t column) {
  for (; column > 0 && !line.empty(); --column) take_character(line);
  line = line.substr(0, std::min(line.find(" #"), line.size()));
  line = line.substr(0, line.find_last_not_of(" \t") + 1);
  std::string word;
  for (int length = 0; !line.empty(); ++length) {
    if (length == 40) return word + "...";
    const std::string_view before = line;
    take_character(line);
    word += before.substr(0, before.size() - line.size());
  }
  return word;
}

// What libyaml says, and what we say; in `text` %s is the word at the place, %p the place where
// what was being read began.
struct Wording {
  const char *problem;
  const char *context;  // null: any
  bool at_context;      // the place to look at is where that began
  const char *text;
};

constexpr std::array wordings = {
    Wording{"could not find expected ':'", nullptr, true,
            "'%s' is no key without a ':' behind it; write KEY: VALUE"},
    Wording{"mapping values are not allowed in this context", nullptr, false,
            "a ':' cannot stand here; check the indentation, and put a text that has ': ' in it "
            "into quotes"},
    Wording{"block sequence entries are not allowed in this context", nullptr, false,
            "a list cannot begin here; write its '- ' in a line below"},
    Wording{"mapping keys are not allowed in this context", nullptr, false,
            "a '?' cannot stand here; put a text that begins with it into quotes"},
    Wording{"found unexpected end of stream", "while scanning a quoted scalar", true,
            "the quote that begins here is never closed"},
    Wording{"found unexpected document indicator", "while scanning a quoted scalar", true,
            "the quote that begins here is not closed before the document ends"},
    Wording{"found unknown escape character", nullptr, false,
            "this escape is unknown; in double quotes a backslash is written \\\\, in single "
            "quotes it is an ordinary character"},
    Wording{"did not find expected hexdecimal number", nullptr, false,
            "\\x, \\u and \\U are followed by 2, 4 and 8 hexadecimal digits"},
    Wording{"found invalid Unicode character escape code", nullptr, false,
            "this escape is no Unicode character"},
    Wording{"found character that cannot start any token", nullptr, false,
            "'%s' must be in quotes: no value begins with such a character"},
    Wording{"did not find expected alphabetic or numeric character", "while scanning an alias",
            true, "'%s' must be in quotes: without them its * is an alias without a name"},
    Wording{"did not find expected alphabetic or numeric character", "while scanning an anchor",
            true, "'%s' must be in quotes: without them its & is an anchor without a name"},
    Wording{"did not find expected comment or line break", "while scanning a block scalar", true,
            "'%s' must be in quotes: behind | and > the text begins in the next line"},
    Wording{"found undefined tag handle", nullptr, false,
            "'%s' must be in quotes: without them its ! begins a tag, which nothing defines"},
    Wording{nullptr, "while scanning a tag", true,
            "'%s' must be in quotes: without them its ! begins a tag"},
    Wording{"did not find expected ',' or ']'", nullptr, false,
            "the list that begins in %p needs a ',' or ']' here"},
    Wording{"did not find expected ',' or '}'", nullptr, false,
            "the object that begins in %p needs a ',' or '}' here"},
    Wording{"did not find expected node content", "while parsing a flow node", false,
            "a value, or the ']' or '}' of what is open, is missing here"},
    Wording{"did not find expected node content", nullptr, false, "there is no value here"},
    Wording{"did not find expected key", nullptr, false,
            "this is no key of the object that begins in %p; check the indentation, and the quotes "
            "above"},
    Wording{"did not find expected '-' indicator", nullptr, false,
            "this is no entry of the list that begins in %p, whose entries begin with '- '; check "
            "the indentation"},
    Wording{"did not find expected <document start>", nullptr, false,
            "this does not continue the line above it; check the indentation"},
    Wording{"found a tab character", nullptr, false,
            "this line is indented with a tab; YAML takes only spaces"},
};

bool fits(const Wording &wording, const yaml_parser_t &parser) {
  const auto has = [](const char *said, const char *wanted) {
    return wanted == nullptr || (said != nullptr && std::strstr(said, wanted) != nullptr);
  };
  return has(parser.problem, wording.problem) && has(parser.context, wording.context);
}

void replace(std::string &text, std::string_view from, const std::string &to) {
  if (const size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
}

int from_one(size_t number) { return static_cast<int>(number) + 1; }

YamlEvents::YamlEvents(const std::string &text)
    : text_(is_json(text) ? with_yaml_escapes(text) : text) {
  if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  // Bytes are not of the type that the library reads; it has no other use for it.
  yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char *>(text_.data()),
                               text_.size());
}

YamlEvents::~YamlEvents() {
  yaml_event_delete(&event_);
  yaml_parser_delete(&parser_);
}

const yaml_event_t &YamlEvents::next() {
  yaml_event_delete(&event_);
  if (yaml_parser_parse(&parser_, &event_) != 0) return event_;
  if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
  if (parser_.error == YAML_READER_ERROR) refuse_bytes();
  refuse_text();
}

void YamlEvents::refuse_bytes() const {
  const std::string_view read = std::string_view(text_).substr(0, parser_.problem_offset);
  const auto lines = static_cast<size_t>(std::ranges::count(read, '\n'));
  throw YamlError(from_one(lines), 0, "there is a control character; this is no text");
}

void YamlEvents::refuse_text() const {
  const std::string_view line = line_at(text_, parser_.problem_mark.line);
  const auto *found = std::find_if(wordings.begin(), wordings.end(),
                                   [&](const Wording &wording) { return fits(wording, parser_); });
  const bool at_context = found != wordings.end() && found->at_context;
  const yaml_mark_t &mark = at_context ? parser_.context_mark : parser_.problem_mark;
  std::string message = found != wordings.end() ? found->text : parser_.problem;
  if (has_tab_indent(line)) message = wordings.back().text;
  replace(message, "%s", word_at(line_at(text_, mark.line), mark.column));
  replace(message, "%p",
          "line " + std::to_string(from_one(parser_.context_mark.line)) + ", column " +
              std::to_string(from_one(parser_.context_mark.column)));
  throw YamlError(from_one(mark.line), from_one(mark.column), message);
}

// What a YAML 1.1 scalar means.
template <size_t n>
bool is_one_of(const std::array<std::string_view, n> &words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 5> nulls = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 11> truths = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                     "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> lies = {"n",     "N",     "no",  "No",  "NO", "false",
                                                   "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 12> not_finite = {".nan",  ".NaN",  ".NAN",  ".inf",
                                                         ".Inf",  ".INF",  "+.inf", "+.Inf",
                                                         "+.INF", "-.inf", "-.Inf", "-.INF"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 0x1F, 0o17, 017, 0b11, 42, each with a sign or without.
std::optional<double> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = text[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    text.remove_prefix(base == 8 && mark != 'o' && mark != 'O' ? 1 : 2);
  }
  uint64_t value = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return negative && value != 0 ? -static_cast<double>(value) : static_cast<double>(value);
}

// Digits with a point and an exponent; not what is too large for a double.
std::optional<double> parse_float(std::string_view text) {
  const bool is_signed = text.starts_with('+') || text.starts_with('-');
  const std::string_view unsigned_text = text.substr(is_signed ? 1 : 0);
  if (unsigned_text.empty() || (!is_digit(unsigned_text[0]) && unsigned_text[0] != '.'))
    return std::nullopt;
  const std::string_view digits = text.starts_with('+') ? unsigned_text : text;
  double value = 0;
  const char *end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (stop != end) return std::nullopt;
  if (error == std::errc()) return value;
  // Out of range: too small is zero, too large is no number.
  const bool tiny = digits.find("e-") != digits.npos || digits.find("E-") != digits.npos;
  return tiny ? std::optional(0.0) : std::nullopt;
}

std::string without_underscores(std::string text) {
  std::erase(text, '_');
  return text;
}

// A number as JSON readers see it that know doubles only: whole when it is, as far as an int64_t
// reaches.
Json number_as_double(double value) {
  constexpr double limit = 9223372036854775808.0;  // 2^63
  const bool whole = std::trunc(value) == value && value >= -limit && value < limit;
  if (whole && !(value == 0 && std::signbit(value))) return static_cast<int64_t>(value);
  return value;
}

// An unquoted scalar: null, true or false, a number, else the text itself. None for NaN and the
// infinities, which JSON cannot hold.
std::optional<Json> resolve_plain_scalar(const std::string &text) {
  if (is_one_of(nulls, text)) return Json(nullptr);
  if (is_one_of(truths, text)) return Json(true);
  if (is_one_of(lies, text)) return Json(false);
  if (is_one_of(not_finite, text)) return std::nullopt;
  const char first = text[0];
  if (!is_digit(first) && first != '+' && first != '-' && first != '.') return Json(text);
  const std::string digits = without_underscores(text);
  std::optional<double> number = parse_integer(digits);
  if (!number) number = parse_float(digits);
  return number ? number_as_double(*number) : Json(text);
}

// An unquoted scalar with a tag of YAML's own, such as "int" for !!int. None for what is no such
// thing, and as above.
std::optional<Json> resolve_tagged_scalar(const std::string &tag, const std::string &text) {
  if (tag == "binary") {
    const std::optional<std::string> bytes = from_base64(text);
    return bytes ? std::optional<Json>(to_utf8(*bytes)) : std::nullopt;
  }
  const bool is_number = tag == "int" || tag == "float";
  if (!is_number && tag != "null" && tag != "bool") return Json(text);
  std::optional<Json> value = resolve_plain_scalar(text);
  const bool fits = value && (tag == "null"   ? value->is_null()
                              : tag == "bool" ? value->is_boolean()
                                              : value->is_number());
  if (!fits || (tag == "int" && !parse_integer(without_underscores(text)))) return std::nullopt;
  return value;
}

constexpr const char *tag_prefix = "tag:yaml.org,2002:";

struct At {
  int line = 1, column = 1;
};

struct Node {
  Json value;
  YamlPlace place;
  size_t values = 1;  // this one and all inside, as yaml_max_values counts
  size_t depth = 0;   // levels inside
  int column = 1;
};

[[noreturn]] void refuse(const At &at, const std::string &message) {
  throw YamlError(at.line, at.column, message);
}

At place_of(const yaml_event_t &event) {
  return {static_cast<int>(event.start_mark.line) + 1,
          static_cast<int>(event.start_mark.column) + 1};
}

std::string text_of(const yaml_char_t *text) {
  return text == nullptr ? "" : reinterpret_cast<const char *>(text);
}

Json scalar(const std::string &tag, bool is_plain, const std::string &text, const At &at) {
  if (is_plain) {
    const std::optional<Json> value = resolve_plain_scalar(text);
    if (!value) refuse(at, "'" + text + "' is no number that a configuration can hold");
    return *value;
  }
  if (!tag.starts_with(tag_prefix)) return text;
  const std::string kind = tag.substr(std::strlen(tag_prefix));
  const std::optional<Json> value = resolve_tagged_scalar(kind, text);
  if (!value)
    refuse(at, "'" + text + "' is not what its tag !!" + kind + " says; correct one of them");
  return *value;
}

// Unquoted, it means true or false: a key of that name is a surprise, unless it is one of these.
bool is_surprising_key(const Json &value, const std::string &text) {
  return value.is_boolean() && text.size() <= 3;
}

// Whoever writes yes or off means it so.
bool is_surprising_value(const Json &value, const std::string &text) {
  return value.is_boolean() && text.size() == 1;
}

std::string key_text(const Node &key) {
  const At at = {key.place.line, key.column};
  if (key.value.is_string()) return key.value.get<std::string>();
  if (key.value.is_null()) refuse(at, "a key must not be null; quote it or name it");
  if (key.value.is_structured()) refuse(at, "a key must be a text, not a list or an object");
  return key.value.dump();
}

// Puts keys and values into an object in linear time; of equal keys the last one wins.
class ObjectBuilder {
 public:
  // Gives the line where the key was set before, or 0.
  int set(const std::string &key, Json value, YamlPlace place) {
    const auto [found, is_new] = index_.try_emplace(key, keys().size());
    if (is_new) {
      keys().push_back({key, std::move(value)});
      node.place.children.push_back(std::move(place));
      return 0;
    }
    (keys().begin() + static_cast<std::ptrdiff_t>(found->second))->second = std::move(value);
    YamlPlace &known = node.place.children[found->second];
    const int before = known.line;
    known = std::move(place);
    return before;
  }
  // What a merge key names: an object, or a list of them. What is there already stays.
  void merge(const Node &from) {
    if (from.value.is_array()) {
      for (size_t i = 0; i < from.value.size(); ++i)
        merge_object(from.value[i], from.place.children[i]);
    } else {
      merge_object(from.value, from.place);
    }
  }

  Node node{Json::object(), {}, 1, 0};

 private:
  Json::object_t &keys() { return node.value.get_ref<Json::object_t &>(); }
  void merge_object(const Json &object, const YamlPlace &place) {
    if (!object.is_object())
      refuse({place.line, 0}, "a merge key (<<) takes an object, or a list of objects");
    size_t i = 0;
    for (const auto &[key, value] : object.items()) {
      const YamlPlace &from = place.children[i++];
      if (index_.find(key) == index_.end()) set(key, value, from);
    }
  }

  std::unordered_map<std::string, size_t> index_;
};

struct Open {
  bool is_map = false;
  std::string anchor;     // empty: none
  ObjectBuilder builder;  // of a list only its node is used
  bool has_key = false;   // the next node is its value
  bool merges = false;    // and the key was <<
  Node key;
  std::vector<Node> merged;
};

// Makes a value of the events of one document.
class Builder {
 public:
  void take(const yaml_event_t &event) {
    const At at = place_of(event);
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        return take_scalar(event, at);
      case YAML_ALIAS_EVENT:
        return take_alias(text_of(event.data.alias.anchor), at);
      case YAML_SEQUENCE_START_EVENT:
        return begin(at, false, text_of(event.data.sequence_start.anchor));
      case YAML_MAPPING_START_EVENT:
        return begin(at, true, text_of(event.data.mapping_start.anchor));
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return end();
      default:
        return;  // the start of the text and of the document
    }
  }
  void warn_of_another_document(const At &at) {
    warn("", "another_document", "", at.line,
         "another document begins here; only the first one is read");
  }
  YamlDocument give() {
    return {std::move(root_.value), std::move(root_.place), std::move(warnings_)};
  }

 private:
  void take_scalar(const yaml_event_t &event, const At &at) {
    const auto &given = event.data.scalar;
    const std::string text(reinterpret_cast<const char *>(given.value), given.length);
    const bool is_plain = given.tag == nullptr && given.plain_implicit != 0;
    if (text == "<<" && is_plain && awaits_key()) {
      open_.back().has_key = open_.back().merges = true;
      return;
    }
    Json value = scalar(text_of(given.tag), is_plain, text, at);
    if (awaits_key() && is_plain && is_surprising_key(value, text))
      warn(path(open_.size() - 1), "boolean_key", value.dump(), at.line,
           "the key '" + text + "' is read as " + value.dump() +
               ", as YAML has it; to have a key of that name, write it in quotes");
    else if (!awaits_key() && is_plain && is_surprising_value(value, text))
      warn(path(open_.size()), "boolean_value", "", at.line,
           "the value '" + text + "' is read as " + value.dump() +
               ", as YAML has it; to have that text, write it in quotes");
    finish({std::move(value), {at.line, {}}, 1 + text.size() / 32, 0, at.column},
           text_of(given.anchor));
  }
  void take_alias(const std::string &anchor, const At &at) {
    if (std::ranges::any_of(open_, [&](const Open &open) { return open.anchor == anchor; }))
      refuse(at, "an alias (*) is inside the value that it names");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      refuse(at, "no anchor (&" + anchor + ") is above the alias *" + anchor +
                     "; a text that begins with * needs quotes");
    count(found->second.values, at.line);
    attach(found->second);
  }
  bool awaits_key() const { return !open_.empty() && open_.back().is_map && !open_.back().has_key; }
  void begin(const At &at, bool is_map, std::string anchor) {
    check_depth(open_.size() + 1, at.line);
    open_.emplace_back();
    open_.back().is_map = is_map;
    open_.back().anchor = std::move(anchor);
    Node &node = open_.back().builder.node;
    if (!is_map) node.value = Json::array();
    node.place.line = at.line;
    node.column = at.column;
  }
  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    for (const Node &from : done.merged) done.builder.merge(from);
    finish(std::move(done.builder.node), done.anchor);
  }
  void finish(Node node, const std::string &anchor) {
    const bool is_kept = !anchor.empty();
    // Those inside are counted already, and an anchored node is kept a second time.
    count((node.value.is_structured() ? 1 : node.values) + (is_kept ? node.values : 0),
          node.place.line);
    if (is_kept) anchors_.insert_or_assign(anchor, node);
    attach(std::move(node));
  }
  void attach(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open &into = open_.back();
    check_depth(open_.size() + node.depth, node.place.line);
    if (into.is_map && !into.has_key) {
      into.has_key = true;
      into.key = std::move(node);
      return;
    }
    Node &holder = into.builder.node;
    holder.values += node.values;
    holder.depth = std::max(holder.depth, node.depth + 1);
    if (!into.is_map) {
      holder.value.push_back(std::move(node.value));
      holder.place.children.push_back(std::move(node.place));
    } else if (into.merges) {
      into.merged.push_back(std::move(node));
    } else {
      const int line = node.place.line = into.key.place.line;
      const std::string key = key_text(into.key);
      if (const int before = into.builder.set(key, std::move(node.value), std::move(node.place)))
        warn(path(open_.size() - 1), "repeated_key", key, line,
             "the key '" + key + "' is in line " + std::to_string(before) +
                 " already; this one counts");
    }
    into.has_key = into.merges = false;
  }
  // Of the object or list that is open `levels` deep, or of the value that it waits for.
  std::string path(size_t levels) const {
    std::string path;
    for (size_t i = 0; i < levels; ++i)
      path += open_[i].merges   ? ".<<"
              : open_[i].is_map ? "." + key_text(open_[i].key)
                                : "[" + std::to_string(open_[i].builder.node.value.size()) + "]";
    return path;
  }
  void warn(const std::string &path, const char *kind, const std::string &key, int line,
            const std::string &message) {
    if (warnings_.size() < yaml_max_warnings) warnings_.push_back({path, kind, key, line, message});
  }
  static void check_depth(size_t depth, int line) {
    if (depth > yaml_max_depth)
      refuse({line, 0}, "it is nested deeper than " + std::to_string(yaml_max_depth) + " levels");
  }
  void count(size_t values, int line) {
    values_ += values;
    if (values_ > yaml_max_values)
      refuse({line, 0}, "with its aliases it comes to more than " +
                            std::to_string(yaml_max_values) + " keys and values");
  }

  std::vector<Open> open_;
  std::unordered_map<std::string, Node> anchors_;
  size_t values_ = 0;
  std::vector<YamlWarning> warnings_;
  Node root_;
};

// Of UTF-16, as editors on Windows save it: with a mark at its start, or by its zeros.
bool is_utf16(const std::string &text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return true;
  const std::string start = text.substr(0, 64);
  const auto zeros = static_cast<size_t>(std::ranges::count(start, '\0'));
  return start.size() > 3 && zeros * 5 > start.size() * 2;
}

}  // namespace

std::string describe(const YamlError &error) {
  std::string place = "line " + std::to_string(error.line);
  if (error.column > 0) place += ", column " + std::to_string(error.column);
  return place + ": " + error.what();
}

void check_yaml_text(const std::string &text) {
  if (text.size() > yaml_max_size)
    refuse({1, 0}, "it has " + std::to_string(text.size()) +
                       " bytes; a configuration has at most " + std::to_string(yaml_max_size));
  if (is_utf16(text)) refuse({1, 0}, "it is in UTF-16; save it in UTF-8");
  int line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (c == '\0') refuse({line, 0}, "there is a NUL byte; this is no text");
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t')
      refuse({line, 0}, "there is a control character; this is no text");
  }
  if (!is_utf8(text)) refuse({1, 0}, "it is not in UTF-8; save it so");
}

YamlDocument read_yaml(const std::string &text) {
  check_yaml_text(text);
  YamlEvents events(text);
  Builder builder;
  const yaml_event_t *event = &events.next();
  for (; event->type != YAML_DOCUMENT_END_EVENT && event->type != YAML_STREAM_END_EVENT;
       event = &events.next())
    builder.take(*event);
  if (event->type == YAML_STREAM_END_EVENT) return builder.give();
  const bool is_ended = event->data.document_end.implicit == 0;  // by a line of "..."
  try {
    event = &events.next();
    if (event->type == YAML_DOCUMENT_START_EVENT)
      builder.warn_of_another_document(place_of(*event));
  } catch (const YamlError &e) {
    if (!is_ended) throw;
    builder.warn_of_another_document({e.line, e.column});
  }
  return builder.give();
}

}  // namespace det::config
