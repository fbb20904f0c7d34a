#include "core/cloud/object_text.h"

#include "core/base/error.h"

namespace det::cloud {

namespace {

constexpr uint64_t longest = uint64_t{1} << 30;  // a manifest of ten million files

class TextSink : public http::BodySink {
 public:
  void begin() override { text.clear(); }
  void write(const char *bytes, size_t count) override { text.append(bytes, count); }
  std::string text;
};

}  // namespace

std::optional<std::string> read_object(ObjectStore &store, const std::string &key) {
  const auto sink = std::make_shared<TextSink>();
  try {
    store.get(key, 0, longest, {}, sink);
  } catch (const Error &error) {
    if (error.code == Code::not_found) return std::nullopt;
    throw;
  }
  if (sink->text.size() >= longest)
    throw Error(Code::corrupt, "reading '" + store.name_of(key) + "': it is too long");
  return std::move(sink->text);
}

void write_object(ObjectStore &store, const std::string &key, std::string text, bool only_new) {
  store.put(key, std::make_shared<TextRange>("'" + store.name_of(key) + "'", std::move(text)),
            only_new);
}

}  // namespace det::cloud
