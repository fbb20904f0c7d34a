#include "core/cloud/gcs/gcs_bucket.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/json_fwd.h"
#include "core/base/text/percent.h"
#include "core/base/uuid.h"
#include "core/cloud/batch.h"
#include "core/cloud/byte_range.h"
#include "core/cloud/checksum.h"
#include "core/cloud/download.h"
#include "core/cloud/gcs/gcs_protocol.h"
#include "core/cloud/gcs/google_answer.h"
#include "core/cloud/storage_fields.h"

namespace det::cloud {

namespace {

size_t copy_from(const std::string &text, uint64_t offset, char *bytes, size_t room) {
  const size_t count = std::min<uint64_t>(room, text.size() - offset);
  std::memcpy(bytes, text.data() + offset, count);
  return count;
}

// An object and what is said of it in one body: multipart/related, as uploads to Google have it.
class RelatedBody : public http::BodySource {
 public:
  RelatedBody(const Json &metadata, std::shared_ptr<ByteRange> bytes);

  std::string content_type() const;
  uint64_t size() const override { return head_.size() + bytes_->size() + tail_.size(); }
  size_t read(uint64_t offset, char *bytes, size_t room) override;

 private:
  const std::shared_ptr<ByteRange> bytes_;
  const std::string boundary_;
  std::string head_, tail_;
};

RelatedBody::RelatedBody(const Json &metadata, std::shared_ptr<ByteRange> bytes)
    : bytes_(std::move(bytes)), boundary_(make_uuid()) {
  head_ = "--" + boundary_ + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" +
          to_wire(metadata) + "\r\n--" + boundary_ +
          "\r\nContent-Type: application/octet-stream\r\n\r\n";
  tail_ = "\r\n--" + boundary_ + "--\r\n";
}

std::string RelatedBody::content_type() const { return "multipart/related; boundary=" + boundary_; }

size_t RelatedBody::read(uint64_t offset, char *bytes, size_t room) {
  if (offset < head_.size()) return copy_from(head_, offset, bytes, room);
  offset -= head_.size();
  if (offset < bytes_->size()) return bytes_->read(offset, bytes, room);
  return copy_from(tail_, offset - bytes_->size(), bytes, room);
}

int64_t time_member(const Json &json, const char *member) {
  const auto time = parse_iso8601(text_member(json, member));
  if (!time) throw Error(Code::corrupt, std::string("the answer is damaged: no time in ") + member);
  return *time / 1000;
}

constexpr size_t longest_key = 1024;  // bytes
// Which writer an object is of that must be new: a second attempt finds what the first one stored.
constexpr const char *writer_mark = "detcore-writer";

void set_header(http::HttpRequest &request, const std::string &name, std::string value) {
  for (http::HttpHeader &header : request.headers)
    if (header.name == name) {
      header.value = std::move(value);
      return;
    }
  request.headers.push_back({name, std::move(value)});
}

// "crc32c=n03x6A==,md5=..."
std::optional<uint32_t> hash_in(const http::HttpResponse &answer) {
  for (const http::HttpHeader &header : answer.headers) {
    const size_t at = header.value.find("crc32c=");
    if (header.name != "x-goog-hash" || at == std::string::npos) continue;
    const std::string text = header.value.substr(at + 7);
    return crc32c_in(text.substr(0, text.find(',')));
  }
  return std::nullopt;
}

const Json &items_in(const Json &page, const char *member) {
  static const Json none = Json::array();
  const auto found = page.find(member);
  if (found == page.end()) return none;
  if (!found->is_array())
    throw Error(Code::corrupt, std::string("the answer is damaged: its ") + member + " are none");
  return *found;
}

std::vector<GcsObject> objects_in(const Json &page) {
  std::vector<GcsObject> objects;
  for (const Json &item : items_in(page, "items")) objects.push_back(GcsObject::from_json(item));
  return objects;
}

constexpr size_t most_together = 100;  // that the service takes

bool is_gone(int status) { return status == 404 || (status >= 200 && status < 300); }

}  // namespace

GcsObject GcsObject::from_json(const Json &json) {
  GcsObject object{.key = text_member(json, "name"),
                   .size = number_member(json, "size"),
                   .generation = number_member(json, "generation"),
                   .created_ms = time_member(json, "timeCreated"),
                   .updated_ms = time_member(json, "updated")};
  const auto checksum = crc32c_in(text_member(json, "crc32c"));
  if (!checksum) throw Error(Code::corrupt, "the answer is damaged: its crc32c is none");
  object.crc32c = *checksum;
  const auto metadata = json.find("metadata");
  if (metadata != json.end() && metadata->is_object())
    for (const auto &[name, value] : metadata->items())
      if (value.is_string()) object.metadata[name] = value.get<std::string>();
  return object;
}

bool GcsObject::is_made_of(const std::vector<GcsObject> &parts) const noexcept {
  uint64_t whole_size = 0;
  uint32_t whole = 0;
  for (const GcsObject &part : parts) {
    whole = joined_crc32c(whole, part.crc32c, part.size);
    whole_size += part.size;
  }
  return size == whole_size && crc32c == whole;
}

GcsBucket::GcsBucket(std::shared_ptr<const GcsConfig> config, RequestPolicy policy,
                     std::shared_ptr<Protocol> protocol, std::shared_ptr<Logger> logger)
    : config_(std::move(config)),
      requests_(config_->http, std::move(policy), std::move(protocol), std::move(logger)) {}

GcsBucket GcsBucket::within(RequestScope &scope) const {
  GcsBucket some = *this;
  some.requests_ = requests_.within(&scope);
  return some;
}

std::string GcsBucket::name_of(const std::string &key) const {
  return "gs://" + config_->bucket + "/" + key;
}

std::string GcsBucket::url(const std::string &path, const Query &query) const {
  std::string text = config_->endpoint + path;
  char separator = '?';
  for (const auto &[name, value] : query) {
    text += std::exchange(separator, '&') + std::string(name) + "=" + percent_encoded(value);
  }
  return text;
}

std::string GcsBucket::object_path(const std::string &key) const {
  if (key.empty() || key.size() > longest_key || key == "." || key == "..")
    throw Error(Code::invalid, "naming an object '" + key +
                                   "': Google Cloud Storage has keys of 1 to 1024 bytes, but not "
                                   "'.' and '..'");
  return "/b/" + percent_encoded(config_->bucket) + "/o/" + percent_encoded(key);
}

Json GcsBucket::properties(const Metadata &metadata) const {
  Json properties{{"contentType", "application/octet-stream"}};
  if (!config_->storage_class.empty()) properties["storageClass"] = config_->storage_class;
  for (const auto &[name, value] : metadata) properties["metadata"][name] = value;
  return properties;
}

GcsBucket::Query GcsBucket::kms_key(const char *parameter) const {
  return config_->kms_key.empty() ? Query{} : Query{{parameter, config_->kms_key}};
}

// `look` reads the answer; what it throws as Code::corrupt is tried again.
Json GcsBucket::ask(const std::string &tried, http::HttpRequest request,
                    const std::function<void(const Json &)> &look) {
  Json told;
  requests_.perform({.tried = tried,
                     .request = std::move(request),
                     .check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
                       told = json_of(answer);
                       look(told);
                       return std::nullopt;
                     }});
  return told;
}

GcsObject GcsBucket::upload(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
                            Metadata metadata, bool only_new) {
  const std::string tried = "storing '" + name_of(key) + "'";
  const uint32_t sum = expected_crc32c(*bytes);
  Query query = kms_key("kmsKeyName");
  query.push_back({"uploadType", "multipart"});
  query.push_back({"fields", GcsObject::fields});
  if (only_new) query.push_back({"ifGenerationMatch", "0"});
  const std::string writer = make_uuid();
  if (only_new) metadata[writer_mark] = writer;
  Json described = properties(metadata);
  object_path(key);  // which refuses what is no key
  described["name"] = key;
  described["crc32c"] = crc32c_text(sum);
  const auto body = std::make_shared<RelatedBody>(described, bytes);
  GcsObject stored;
  const auto is_stored = [&] { return stored.crc32c == sum && stored.size == bytes->size(); };
  int attempts = 1;
  const auto perform = [&] {
    requests_.perform(
        {.tried = tried,
         .request = {.method = "POST",
                     .url = url("/upload/storage/v1/b/" + percent_encoded(config_->bucket) + "/o",
                                query),
                     .headers = {{"Content-Type", body->content_type()}},
                     .source = body},
         .check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
           stored = GcsObject::from_json(json_of(answer));
           if (is_stored()) return std::nullopt;
           return Refusal{Code::corrupt, Refusal::Again::soon, "it stored other bytes", ""};
         },
         .before_retry =
             [&](http::HttpRequest &) {
               ++attempts;
               require_unchanged(tried, *bytes, crc32c(*bytes) == sum);
             }});
  };
  try {
    perform();
  } catch (const Error &error) {
    if (error.code != Code::conflict || !only_new || attempts == 1) throw;
    const auto found = find(key);
    if (!found || found->metadata != metadata) throw;
    stored = *found;
  }
  return stored;
}

void GcsBucket::download(const std::string &key, uint64_t offset, uint64_t size,
                         uint64_t generation, const std::shared_ptr<http::BodySink> &sink) {
  const std::string tried = "reading '" + name_of(key) + "'";
  const auto summing = std::make_shared<SummingSink>(sink);
  const auto download = std::make_shared<Download>(offset, size, summing);
  Query query{{"alt", "media"}};
  if (generation != 0) query.push_back({"generation", std::to_string(generation)});
  // What is stored compressed comes as it is stored, and nothing is compressed on the way.
  http::HttpRequest request{.url = url("/storage/v1" + object_path(key), query),
                            .headers = {{"Accept-Encoding", "gzip"}},
                            .sink = download,
                            .compressed = false};
  set_header(request, "Range", download->next_range());
  try {
    requests_.perform({.tried = tried,
                       .request = std::move(request),
                       .expected = {200, 206, 416},
                       .check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
                         if (auto refusal = download->check(answer)) return refusal;
                         const auto sum = hash_in(answer);
                         const bool is_whole =
                             offset == 0 && answer.header("x-goog-stored-content-length") ==
                                                std::to_string(summing->size());
                         if (!sum || !is_whole || *sum == summing->sum()) return std::nullopt;
                         return Refusal{Code::corrupt, Refusal::Again::no,
                                        "its bytes are damaged: they are not those of its checksum",
                                        "read it again"};
                       },
                       .before_retry =
                           [&](http::HttpRequest &again) {
                             set_header(again, "Range", download->next_range());
                           }});
  } catch (const Error &error) {
    if (error.code != Code::not_found || generation == 0 || !find(key)) throw;
    throw Error(Code::conflict, tried + ": it has been replaced meanwhile", 0, error.http_status);
  }
}

std::optional<GcsObject> GcsBucket::find(const std::string &key) {
  std::optional<GcsObject> found;
  requests_.perform(
      {.tried = "looking for '" + name_of(key) + "'",
       .request = {.url = url("/storage/v1" + object_path(key), {{"fields", GcsObject::fields}})},
       .expected = {200, 404},
       .check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
         if (answer.status == 404) return missing_bucket(answer, config_->bucket);
         found = GcsObject::from_json(json_of(answer));
         return std::nullopt;
       }});
  return found;
}

// Copies, and objects that are put together.

void GcsBucket::copy(const std::string &from, const std::string &to) {
  const std::string tried = "copying '" + name_of(from) + "' to '" + name_of(to) + "'";
  const std::string path = "/storage/v1" + object_path(from) + "/rewriteTo" + object_path(to);
  Query query = kms_key("destinationKmsKeyName");
  query.push_back({"fields", "done,rewriteToken"});
  // Much takes several calls.
  for (std::string token;;) {
    Query next = query;
    if (!token.empty()) next.push_back({"rewriteToken", token});
    bool done = false;
    const Json told = ask(tried,
                          {.method = "POST",
                           .url = url(path, next),
                           .headers = {{"Content-Type", "application/json"}},
                           .body = config_->storage_class.empty()
                                       ? "{}"
                                       : to_wire({{"storageClass", config_->storage_class}})},
                          [&](const Json &answer) {
                            done = answer.value("done", false);
                            if (!done) token = text_member(answer, "rewriteToken");
                          });
    if (done) return;
  }
}

GcsObject GcsBucket::compose(const std::string &key, const std::vector<GcsObject> &sources,
                             const Metadata &metadata) {
  try {
    return compose(key, sources, metadata, true);
  } catch (const Error &error) {
    const bool is_retention = std::string_view(error.what()).find("etention") != std::string::npos;
    if (error.code != Code::access || !is_retention) throw;
    return compose(key, sources, metadata, false);
  }
}

GcsObject GcsBucket::compose(const std::string &key, const std::vector<GcsObject> &sources,
                             const Metadata &metadata, bool removes) {
  const std::string tried = "putting the parts of '" + name_of(key) + "' together";
  Json asked{{"sourceObjects", Json::array()},
             {"destination", properties(metadata)},
             {"deleteSourceObjects", removes}};
  for (const GcsObject &source : sources)
    asked["sourceObjects"].push_back(
        {{"name", source.key}, {"generation", std::to_string(source.generation)}});
  Query query = kms_key("kmsKeyName");
  query.push_back({"fields", GcsObject::fields});
  GcsObject made;
  try {
    ask(tried,
        {.method = "POST",
         .url = url("/storage/v1" + object_path(key) + "/compose", query),
         .headers = {{"Content-Type", "application/json"}},
         .body = to_wire(asked)},
        [&](const Json &answer) { made = GcsObject::from_json(answer); });
  } catch (const Error &error) {
    // The sources are gone where an attempt succeeded whose answer was lost.
    if (error.code != Code::not_found) throw;
    const auto found = find(key);
    if (!found || !found->is_made_of(sources)) throw;
    made = *found;
  }
  if (!made.is_made_of(sources))
    throw Error(Code::corrupt, tried + ": the bucket has made other bytes of them; store it again");
  return made;
}

// `token` says which page, and then which is next: empty before the first and after the last.
void GcsBucket::list_page(Query query, std::string &token,
                          const std::function<void(const Json &)> &look) {
  std::string prefix;
  for (const auto &[name, value] : query)
    if (name == std::string_view("prefix")) prefix = value;
  query.push_back(
      {"fields", std::string("nextPageToken,prefixes,items(") + GcsObject::fields + ")"});
  if (!token.empty()) query.push_back({"pageToken", token});
  const Json page =
      ask("listing '" + name_of(prefix) + "'",
          {.url = url("/storage/v1/b/" + percent_encoded(config_->bucket) + "/o", query)}, look);
  token = optional_text(page, "nextPageToken");
}

void GcsBucket::list(const std::string &prefix,
                     const std::function<void(const GcsObject &)> &each) {
  std::string token;
  do {
    std::vector<GcsObject> objects;
    list_page({{"prefix", prefix}, {"maxResults", "1000"}}, token,
              [&](const Json &page) { objects = objects_in(page); });
    for (const GcsObject &object : objects) each(object);
  } while (!token.empty());
}

std::optional<GcsObject> GcsBucket::first_of(const std::string &prefix) {
  std::string token;
  do {  // a page may be empty though others follow
    std::vector<GcsObject> objects;
    list_page({{"prefix", prefix}, {"maxResults", "1"}}, token,
              [&](const Json &page) { objects = objects_in(page); });
    if (!objects.empty()) return objects.front();
  } while (!token.empty());
  return std::nullopt;
}

void GcsBucket::list_folders(const std::string &prefix,
                             const std::function<void(const std::string &)> &each) {
  std::string token;
  do {
    std::vector<std::string> folders;
    list_page({{"prefix", prefix}, {"delimiter", "/"}, {"maxResults", "1000"}}, token,
              [&](const Json &page) {
                folders.clear();
                for (const Json &folder : items_in(page, "prefixes")) {
                  if (!folder.is_string() || folder.get<std::string>().size() <= prefix.size())
                    throw Error(Code::corrupt, "the answer is damaged: its prefixes are none");
                  folders.push_back(folder.get<std::string>().substr(prefix.size()));
                }
              });
    for (std::string &folder : folders) {
      folder.pop_back();  // the '/'
      each(folder);
    }
  } while (!token.empty());
}

// Many objects are removed in one request: a body of requests, which is answered by one of answers.

// Those that are not gone.
std::vector<std::string> GcsBucket::remove_together(const std::vector<std::string> &keys) {
  const std::string boundary = make_uuid();
  std::vector<http::HttpRequest> removals;
  for (const std::string &key : keys)
    removals.push_back({.method = "DELETE", .url = url("/storage/v1" + object_path(key), {})});
  const http::HttpResponse answer = requests_.perform(
      {.tried = "removing '" + name_of(keys.front()) + "' and others",
       .request = {.method = "POST",
                   .url = url("/batch/storage/v1", {}),
                   .headers = {{"Content-Type", "multipart/mixed; boundary=" + boundary}},
                   .body = batch_body(boundary, removals, "<item-", ">")}});
  std::vector<http::HttpResponse> answers(keys.size());
  try {
    answers = batch_answers(answer, keys.size());
  } catch (const Error &) {
    // What is not understood counts as no answer.
  }
  std::vector<std::string> left;
  for (size_t i = 0; i < keys.size(); ++i)
    if (!is_gone(answers[i].status)) left.push_back(keys[i]);
  return left;
}

void GcsBucket::remove_one(const std::string &key) {
  requests_.perform(
      {.tried = "removing '" + name_of(key) + "'",
       .request = {.method = "DELETE", .url = url("/storage/v1" + object_path(key), {})},
       .expected = {200, 204, 404},
       .check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
         if (answer.status == 404) return missing_bucket(answer, config_->bucket);
         return std::nullopt;
       }});
}

// Alone, each is tried again as long as that may help, and says why where it does not.
void GcsBucket::remove(const std::vector<std::string> &keys) {
  for (size_t begin = 0; begin < keys.size(); begin += most_together) {
    std::vector<std::string> some(
        keys.begin() + static_cast<std::ptrdiff_t>(begin),
        keys.begin() + static_cast<std::ptrdiff_t>(std::min(keys.size(), begin + most_together)));
    if (some.size() > 1) some = remove_together(some);
    for (const std::string &key : some) remove_one(key);
  }
}

}  // namespace det::cloud
