#include "core/config/experiment/yaml_events.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

#include "core/base/utf8.h"
#include "core/config/experiment/yaml.h"

namespace det::config {

namespace {

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
            "there is no such escape; in double quotes a backslash is written \\\\, in single "
            "quotes it stands for itself"},
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
            "this does not continue what stands above it; check the indentation"},
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

}  // namespace

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

}  // namespace det::config
