#include "core/config/experiment/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "core/base/utf8.h"
#include "core/config/experiment/yaml_scalar.h"

namespace det::config {

namespace {

constexpr const char *tag_prefix = "tag:yaml.org,2002:";

struct Node {
  Json value;
  YamlPlace place;
  size_t values = 1;  // this one and all inside, as yaml_max_values counts
  size_t depth = 0;   // levels inside
};

[[noreturn]] void refuse(int line, const std::string &message) { throw YamlError(line, message); }

int line_of(const YAML::Mark &mark) { return mark.line + 1; }

Json scalar(const std::string &tag, const std::string &text, int line) {
  if (tag == "?") {
    const std::optional<Json> value = resolve_plain_scalar(text);
    if (!value) refuse(line, "'" + text + "' is no number that a configuration can hold");
    return *value;
  }
  if (!tag.starts_with(tag_prefix)) return text;
  const std::string kind = tag.substr(std::strlen(tag_prefix));
  const std::optional<Json> value = resolve_tagged_scalar(kind, text);
  if (!value)
    refuse(line, "'" + text + "' is not what its tag !!" + kind + " says; correct one of them");
  return *value;
}

// Unquoted, it means true or false: a key of that name is a surprise, unless it is one of these.
bool is_surprising_key(const Json &value, const std::string &text) {
  return value.is_boolean() && text.size() <= 3;
}

std::string key_text(const Node &key) {
  if (key.value.is_string()) return key.value.get<std::string>();
  if (key.value.is_null()) refuse(key.place.line, "a key must not be null; quote it or name it");
  if (key.value.is_structured())
    refuse(key.place.line, "a key must be a text, not a list or an object");
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
      refuse(place.line, "a merge key (<<) takes an object, or a list of objects");
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
  YAML::anchor_t anchor = 0;
  ObjectBuilder builder;  // of a list only its node is used
  bool has_key = false;   // the next node is its value
  bool merges = false;    // and the key was <<
  Node key;
  std::vector<Node> merged;
};

class Builder : public YAML::EventHandler {
 public:
  YamlDocument take() {
    return {std::move(root_.value), std::move(root_.place), std::move(warnings_)};
  }

 private:
  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark &mark, YAML::anchor_t anchor) override {
    finish({nullptr, {line_of(mark), {}}, 1, 0}, anchor);
  }
  void OnScalar(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor,
                const std::string &text) override {
    const int line = line_of(mark);
    if (text == "<<" && tag == "?" && awaits_key()) {
      open_.back().has_key = open_.back().merges = true;
      return;
    }
    Json value = scalar(tag, text, line);
    if (awaits_key() && tag == "?" && is_surprising_key(value, text))
      warn("boolean_key", value.dump(), line,
           "the key '" + text + "' is read as " + value.dump() +
               ", as YAML has it; to have a key of that name, write it in quotes");
    finish({std::move(value), {line, {}}, 1 + text.size() / 32, 0}, anchor);
  }
  void OnAlias(const YAML::Mark &mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      refuse(line_of(mark), "an alias (*) stands inside of what it names");
    count(found->second.values, line_of(mark));
    attach(found->second);
  }
  void OnSequenceStart(const YAML::Mark &mark, const std::string &, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, false, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark &mark, const std::string &, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, true, anchor);
  }
  void OnMapEnd() override { end(); }

  bool awaits_key() const { return !open_.empty() && open_.back().is_map && !open_.back().has_key; }
  void begin(const YAML::Mark &mark, bool is_map, YAML::anchor_t anchor) {
    check_depth(open_.size() + 1, line_of(mark));
    open_.emplace_back();
    open_.back().is_map = is_map;
    open_.back().anchor = anchor;
    Node &node = open_.back().builder.node;
    if (!is_map) node.value = Json::array();
    node.place.line = line_of(mark);
  }
  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    for (const Node &from : done.merged) done.builder.merge(from);
    finish(std::move(done.builder.node), done.anchor);
  }
  void finish(Node node, YAML::anchor_t anchor) {
    // Those inside are counted already, and an anchored node is kept a second time.
    count((node.value.is_structured() ? 1 : node.values) + (anchor != 0 ? node.values : 0),
          node.place.line);
    if (anchor != 0) anchors_.insert_or_assign(anchor, node);
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
        warn("repeated_key", key, line,
             "the key '" + key + "' is in line " + std::to_string(before) +
                 " already; this one counts");
    }
    into.has_key = into.merges = false;
  }
  void warn(const char *kind, const std::string &key, int line, const std::string &message) {
    if (warnings_.size() == yaml_max_warnings) return;
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i)
      path += open_[i].is_map ? "." + key_text(open_[i].key)
                              : "[" + std::to_string(open_[i].builder.node.value.size()) + "]";
    warnings_.push_back({path, kind, key, line, message});
  }
  static void check_depth(size_t depth, int line) {
    if (depth > yaml_max_depth)
      refuse(line, "it is nested deeper than " + std::to_string(yaml_max_depth) + " levels");
  }
  void count(size_t values, int line) {
    values_ += values;
    if (values_ > yaml_max_values)
      refuse(line, "with its aliases it comes to more than " + std::to_string(yaml_max_values) +
                       " keys and values");
  }

  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Node> anchors_;
  size_t values_ = 0;
  std::vector<YamlWarning> warnings_;
  Node root_;
};

// Takes what follows the first document: nothing, or another document. The parser itself is
// content with anything.
class Rest : public YAML::EventHandler {
 public:
  explicit Rest(const std::string &text) : text_(text) {}
  struct Begins {};

 private:
  void OnDocumentStart(const YAML::Mark &mark) override {
    size_t at = 0;
    for (int line = 0; line < mark.line && at != text_.npos; ++line) at = text_.find('\n', at) + 1;
    if (text_.compare(at, 3, "---") != 0)
      refuse(line_of(mark), "this does not continue what stands above it; check the indentation");
    throw Begins();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark &, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark &, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark &, const std::string &, YAML::anchor_t,
                const std::string &) override {}
  void OnSequenceStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  const std::string &text_;
};

// Of UTF-16, as editors on Windows save it: with a mark at its start, or by its zeros.
bool is_utf16(const std::string &text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return true;
  const std::string start = text.substr(0, 64);
  const auto zeros = static_cast<size_t>(std::ranges::count(start, '\0'));
  return start.size() > 3 && zeros * 5 > start.size() * 2;
}

// Whether the line, from 1, is indented with a tab.
bool has_tab_indent(const std::string &text, int line) {
  size_t at = 0;
  for (; line > 1; --line) {
    const size_t end = text.find('\n', at);
    if (end == text.npos) return false;
    at = end + 1;
  }
  at = text.find_first_not_of(' ', at);
  return at != text.npos && text[at] == '\t';
}

}  // namespace

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

}  // namespace

void check_yaml_text(const std::string &text) {
  if (text.size() > yaml_max_size)
    refuse(1, "it has " + std::to_string(text.size()) + " bytes; a configuration has at most " +
                  std::to_string(yaml_max_size));
  if (is_utf16(text)) refuse(1, "it is in UTF-16; save it in UTF-8");
  int line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (c == '\0') refuse(line, "there is a NUL byte; this is no text");
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t')
      refuse(line, "there is a control character; this is no text");
  }
  if (!is_utf8(text)) refuse(1, "it is not in UTF-8; save it so");
}

YamlDocument read_yaml(const std::string &text) {
  check_yaml_text(text);
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != text.npos && text[begin] == '{';
  std::istringstream stream(is_json ? with_yaml_escapes(text) : text);
  try {
    YAML::Parser parser(stream);
    Builder builder;
    if (!parser.HandleNextDocument(builder)) return {};
    Rest rest(text);
    try {
      parser.HandleNextDocument(rest);
    } catch (const Rest::Begins &) {
      // Another document, which nobody reads.
    }
    return builder.take();
  } catch (const YAML::Exception &e) {
    const int line = line_of(e.mark);
    if (has_tab_indent(text, line))
      refuse(line, "this line is indented with a tab; YAML takes only spaces");
    // "bad file" is how it calls nesting beyond its own limit.
    refuse(line, e.msg == "bad file" ? "it is nested too deep" : e.msg);
  }
}

}  // namespace det::config
