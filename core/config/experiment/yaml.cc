#include "core/config/experiment/yaml.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/utf8.h"
#include "core/config/experiment/yaml_events.h"
#include "core/config/experiment/yaml_scalar.h"

namespace det::config {

namespace {

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
      refuse(at, "an alias (*) stands inside of what it names");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      refuse(at, "no anchor (&" + anchor + ") stands above the alias *" + anchor +
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
