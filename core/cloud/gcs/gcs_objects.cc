#include "core/cloud/gcs/gcs_objects.h"

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/percent.h"
#include "core/base/uuid.h"
#include "core/cloud/checksum.h"
#include "core/cloud/download.h"
#include "core/cloud/gcs/gcs_dialect.h"
#include "core/cloud/gcs/google_answer.h"
#include "core/cloud/gcs/related_body.h"

namespace det::cloud {

namespace {

constexpr size_t longest_key = 1024;  // bytes
// Which writer an object is of that must be new: a second attempt finds what the first one stored.
constexpr const char *writer_mark = "detcore-writer";

// Sums up a whole object on its way.
class Summing : public http::BodySink {
 public:
  explicit Summing(std::shared_ptr<http::BodySink> into) : into_(std::move(into)) {}
  void begin() override { into_->begin(); }
  void write(const char *bytes, size_t count) override {
    into_->write(bytes, count);
    sum_ = det::crc32c({bytes, count}, sum_);
    size_ += count;
  }
  uint32_t sum() const { return sum_; }
  uint64_t size() const { return size_; }

 private:
  const std::shared_ptr<http::BodySink> into_;
  uint32_t sum_ = 0;
  uint64_t size_ = 0;
};

void set_header(http::HttpRequest &request, const std::string &name, std::string value) {
  for (http::HttpHeader &header : request.headers)
    if (header.name == name) {
      header.value = std::move(value);
      return;
    }
  request.headers.push_back({name, std::move(value)});
}

// "crc32c=n03x6A==,md5=..."
std::optional<uint32_t> hash_in(const http::HttpAnswer &answer) {
  for (const http::HttpHeader &header : answer.headers) {
    const size_t at = header.value.find("crc32c=");
    if (header.name != "x-goog-hash" || at == std::string::npos) continue;
    const std::string text = header.value.substr(at + 7);
    return crc32c_in(text.substr(0, text.find(',')));
  }
  return std::nullopt;
}

}  // namespace

GcsObjects::GcsObjects(const GcsConfig &config, RequestPolicy policy,
                       std::shared_ptr<Dialect> dialect, std::shared_ptr<Logger> logger)
    : config_(config),
      requests_(config.http, std::move(policy), std::move(dialect), std::move(logger)) {}

std::string GcsObjects::name_of(const std::string &key) const {
  return "gs://" + config_.bucket + "/" + key;
}

std::string GcsObjects::url(const std::string &path, const Query &query) const {
  std::string text = config_.endpoint + path;
  char separator = '?';
  for (const auto &[name, value] : query) {
    text += std::exchange(separator, '&') + std::string(name) + "=" + percent_encoded(value);
  }
  return text;
}

std::string GcsObjects::object_path(const std::string &key) const {
  if (key.empty() || key.size() > longest_key || key == "." || key == "..")
    throw Error(Code::invalid, "naming an object '" + key +
                                   "': Google Cloud Storage has keys of 1 to 1024 bytes, but not "
                                   "'.' and '..'");
  return "/b/" + percent_encoded(config_.bucket) + "/o/" + percent_encoded(key);
}

Json GcsObjects::properties(const Metadata &metadata) const {
  Json properties{{"contentType", "application/octet-stream"}};
  if (!config_.storage_class.empty()) properties["storageClass"] = config_.storage_class;
  for (const auto &[name, value] : metadata) properties["metadata"][name] = value;
  return properties;
}

GcsObjects::Query GcsObjects::kms_key(const char *parameter) const {
  return config_.kms_key.empty() ? Query{} : Query{{parameter, config_.kms_key}};
}

// `look` reads the answer; what it throws as Code::corrupt is tried again.
Json GcsObjects::ask(const std::string &tried, http::HttpRequest request,
                     const std::function<void(const Json &)> &look) {
  Json told;
  requests_.perform({.tried = tried,
                     .request = std::move(request),
                     .check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
                       told = json_of(answer);
                       look(told);
                       return std::nullopt;
                     }});
  return told;
}

GcsObject GcsObjects::upload(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
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
                     .url = url("/upload/storage/v1/b/" + percent_encoded(config_.bucket) + "/o",
                                query),
                     .headers = {{"Content-Type", body->content_type()}},
                     .source = body},
         .check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
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

void GcsObjects::download(const std::string &key, uint64_t offset, uint64_t size,
                          uint64_t generation, const std::shared_ptr<http::BodySink> &sink) {
  const std::string tried = "reading '" + name_of(key) + "'";
  const auto summing = std::make_shared<Summing>(sink);
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
                       .check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
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

std::optional<GcsObject> GcsObjects::find(const std::string &key) {
  std::optional<GcsObject> found;
  requests_.perform(
      {.tried = "looking for '" + name_of(key) + "'",
       .request = {.url = url("/storage/v1" + object_path(key), {{"fields", GcsObject::fields}})},
       .expected = {200, 404},
       .check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
         if (answer.status == 404) return missing_bucket(answer, config_.bucket);
         found = GcsObject::from_json(json_of(answer));
         return std::nullopt;
       }});
  return found;
}

}  // namespace det::cloud
