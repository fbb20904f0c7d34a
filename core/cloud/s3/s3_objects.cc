#include "core/cloud/s3/s3_objects.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/crc32c.h"
#include "core/base/text/base64.h"
#include "core/base/text/percent.h"
#include "core/cloud/checksum.h"
#include "core/cloud/digest.h"
#include "core/cloud/download.h"
#include "core/cloud/object_store.h"
#include "core/cloud/requests.h"
#include "core/cloud/s3/s3_answers.h"
#include "core/cloud/s3/s3_credentials.h"
#include "core/cloud/s3/s3_options.h"
#include "core/cloud/s3/s3_protocol.h"
#include "core/cloud/xml.h"
#include "core/http/date.h"
#include "core/http/message.h"

namespace det::cloud {

namespace {

using Again = Refusal::Again;
using S3Query = std::vector<std::pair<std::string, std::string>>;

// Of an object, or of the bucket where `key` is empty. The URL is a path below the bucket, which
// S3Protocol::sign() makes whole.
http::HttpRequest s3_request(const std::string &method, const std::string &key,
                             const S3Query &query = {}) {
  http::HttpRequest request{.method = method, .url = "/" + percent_encoded(key, "/")};
  for (const auto &[name, value] : query)
    request.url +=
        (&name == &query.front().first ? "?" : "&") + name + "=" + percent_encoded(value);
  request.compressed = false;
  return request;
}

// Of an object made of these: "AAAAAA==-3". Nothing where not all of them have one.
std::optional<std::string> s3_checksum(const std::vector<StoredPart> &parts) {
  uint32_t crc = 0;
  for (const StoredPart &part : parts) {
    if (!crc32c_in(part.checksum)) return std::nullopt;
    crc = det::crc32c(*from_base64(part.checksum), crc);
  }
  return crc32c_text(crc) + "-" + std::to_string(parts.size());
}

constexpr const char *checksum_header = "x-amz-checksum-crc32c";

constexpr size_t keys_at_once = 1000;
constexpr uint64_t copied_part = uint64_t{1} << 30U;  // 5 TiB are 5,120 parts

[[noreturn]] void refuse_list(const std::string &tried, const char *why) {
  throw Error(Code::corrupt, tried + ": the store " + why);
}

uint64_t size_of(const std::vector<StoredPart> &parts) {
  return std::accumulate(parts.begin(), parts.end(), uint64_t{0},
                         [](uint64_t sum, const StoredPart &part) { return sum + part.size; });
}

std::string list_of(const std::vector<StoredPart> &parts) {
  std::string text = R"(<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">)";
  for (const StoredPart &part : parts) {
    text += "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>\"" +
            xml_escaped(part.version) + "\"</ETag>";
    if (!part.checksum.empty())
      text += "<ChecksumCRC32C>" + xml_escaped(part.checksum) + "</ChecksumCRC32C>";
    text += "</Part>";
  }
  return text + "</CompleteMultipartUpload>";
}

// More than 25 methods, since ObjectStore has 18.
class S3Objects : public ObjectStore {
 public:
  S3Objects(std::shared_ptr<const S3Options> options, std::shared_ptr<CredentialChain> credentials,
            std::shared_ptr<Logger> logger, RequestPolicy policy);

  std::shared_ptr<ObjectStore> within(RequestScope &scope) override {
    auto some = std::make_shared<S3Objects>(*this);
    some->requests_ = requests_.within(&scope);
    return some;
  }
  const ObjectLimits &limits() const override { return limits_; }
  std::string name_of(const std::string &key) const override;
  bool keeps_directories() override { return !protocol_->is_minio(); }

  void put(const std::string &key, const std::shared_ptr<ByteRange> &bytes, bool only_new) override;
  void get(const std::string &key, uint64_t offset, uint64_t size, const std::string &version,
           const std::shared_ptr<http::BodySink> &sink) override;
  std::optional<ObjectInfo> find(const std::string &key) override;
  void list(const std::string &prefix,
            const std::function<void(const ObjectInfo &)> &each) override;
  void remove(const std::vector<std::string> &keys) override;
  bool copy(const std::string &from, const std::string &to) override;

  std::string begin_parts(const std::string &key) override;
  StoredPart put_part(const std::string &key, const std::string &upload, int number,
                      const std::shared_ptr<ByteRange> &bytes) override;
  std::vector<StoredPart> list_parts(const std::string &key, const std::string &upload) override;
  void complete_parts(const std::string &key, const std::string &upload,
                      const std::vector<StoredPart> &parts) override;
  void abort_parts(const std::string &key, const std::string &upload) override;
  std::vector<PendingUpload> list_uploads(const std::string &prefix) override;

  std::string checksum_of(ByteRange &bytes) override;
  bool sends_crc32c() const override { return options_->checksum == S3Options::Checksum::crc32c; }

 private:
  struct Found {
    ObjectInfo info;
    std::string checksum;         // empty: the store does not say
    std::optional<int64_t> date;  // of the answer, by the store's clock
  };

  // Of one object. Throws Code::invalid for a key that no object can have: one that is empty would
  // be a request to the bucket, such as to remove it.
  http::HttpRequest object_request(const std::string &method, const std::string &key,
                                   const S3Query &query = {}) const;
  // Tries `request`, whose answer `read` takes apart; it throws Code::corrupt for a damaged one. An
  // error in an answer of success is a refusal.
  http::HttpResponse ask(const std::string &tried, http::HttpRequest request,
                         const std::function<void(const std::string &body)> &read,
                         bool takes_long = false);
  std::optional<Found> look(const std::string &key, bool with_checksum = false);
  void say_why(const std::string &key, const std::string &tried);
  bool is_there(const std::string &key, uint64_t size, const std::string &checksum);
  std::string unchanged_version(const std::string &key,
                                std::chrono::steady_clock::time_point since);
  // Gives their checksum.
  std::string add_bytes(Call &call, const std::shared_ptr<ByteRange> &bytes) const;
  void add_kind(http::HttpRequest &request) const;  // how a new object is kept
  void add_source(http::HttpRequest &request, const ObjectInfo &from) const;
  void remove_one(const std::string &key);
  void remove_page(const std::vector<std::string> &keys);
  StoredPart copy_part(const ObjectInfo &from, const std::string &to, const std::string &upload,
                       int number, uint64_t offset, uint64_t size);
  void copy_in_parts(const ObjectInfo &from, const std::string &to);

  const std::shared_ptr<const S3Options> options_;
  const ObjectLimits limits_{};
  const std::shared_ptr<Logger> logger_;
  const std::shared_ptr<S3Protocol> protocol_;
  Requests requests_;
};

S3Objects::S3Objects(std::shared_ptr<const S3Options> options,
                     std::shared_ptr<CredentialChain> credentials, std::shared_ptr<Logger> logger,
                     RequestPolicy policy)
    : options_(std::move(options)),
      logger_(logger),
      protocol_(std::make_shared<S3Protocol>(*options_, std::move(credentials), logger)),
      requests_(options_->http(), std::move(policy), protocol_, std::move(logger)) {}

std::string S3Objects::name_of(const std::string &key) const {
  return "s3://" + options_->bucket + "/" + key;
}

http::HttpRequest S3Objects::object_request(const std::string &method, const std::string &key,
                                            const S3Query &query) const {
  if (key.empty() || key.size() > limits_.key_max)
    throw Error(Code::invalid, "asking for '" + name_of(key) + "': a key has 1 to " +
                                   std::to_string(limits_.key_max) + " bytes, not " +
                                   std::to_string(key.size()));
  // Some stores list such keys as others.
  if ((method == "PUT" || method == "POST") && !fits_xml(key))
    throw Error(Code::invalid,
                "storing '" + name_of(key) +
                    "': a key of S3 has no control characters, and is UTF-8; rename it");
  return s3_request(method, key, query);
}

http::HttpResponse S3Objects::ask(const std::string &tried, http::HttpRequest request,
                                  const std::function<void(const std::string &)> &read,
                                  bool takes_long) {
  Call call{.tried = tried, .request = std::move(request)};
  call.takes_long = takes_long;
  call.check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
    try {
      read(answer.body);
      return std::nullopt;
    } catch (const Error &) {
      if (s3_error_code(answer).empty()) throw;
      return protocol_->refusal_of(answer);
    }
  };
  return requests_.perform(std::move(call));
}

std::optional<S3Objects::Found> S3Objects::look(const std::string &key, bool with_checksum) {
  Call call{.tried = "looking at '" + name_of(key) + "'", .request = object_request("HEAD", key)};
  if (with_checksum) call.request.headers.push_back({"x-amz-checksum-mode", "ENABLED"});
  call.expected = {200, 404};
  http::HttpResponse answer;
  try {
    answer = requests_.perform(call);
  } catch (const Error &error) {
    if (error.http_status == 400 || error.http_status == 403) say_why(key, call.tried);
    throw;
  }
  if (answer.status == 404) return std::nullopt;
  Found found{{.key = key, .version = unquoted(answer.header("etag"))},
              answer.header(checksum_header),
              http::parse_date(answer.header("date"))};
  const std::string size = answer.header("content-length");
  if (std::from_chars(size.data(), size.data() + size.size(), found.info.size).ec != std::errc())
    throw Error(Code::corrupt, call.tried + ": the store does not say how large it is");
  found.info.modified_ms = http::parse_date(answer.header("last-modified")).value_or(0) * 1000;
  return found;
}

// An answer to HEAD has no body that could say it; this throws what the one to GET says.
void S3Objects::say_why(const std::string &key, const std::string &tried) {
  Call call{.tried = tried, .request = object_request("GET", key)};
  call.request.headers.push_back({"Range", "bytes=0-0"});
  call.expected = {200, 206, 404, 416};
  requests_.perform(std::move(call));
}

std::optional<ObjectInfo> S3Objects::find(const std::string &key) {
  const auto found = look(key);
  if (!found) return std::nullopt;
  return found->info;
}

// Whether an object of that size, and with that checksum where the store tells one, stands there:
// what an answer that was lost would have said.
bool S3Objects::is_there(const std::string &key, uint64_t size, const std::string &checksum) {
  const auto found = look(key, true);
  return found && found->info.size == size &&
         (checksum.empty() || found->checksum.empty() || found->checksum == checksum);
}

void S3Objects::add_kind(http::HttpRequest &request) const {
  const std::pair<const char *, const std::string &> kinds[] = {
      {"x-amz-server-side-encryption", options_->sse},
      {"x-amz-server-side-encryption-aws-kms-key-id", options_->sse_kms_key_id},
      {"x-amz-storage-class", options_->storage_class}};
  for (const auto &[name, value] : kinds)
    if (!value.empty()) request.headers.push_back({name, value});
}

// The store verifies the bytes, and what it says of them is compared.
std::string S3Objects::add_bytes(Call &call, const std::shared_ptr<ByteRange> &bytes) const {
  call.request.source = bytes;
  const bool by_md5 = options_->checksum == S3Options::Checksum::md5;
  const auto sum_of = [by_md5](ByteRange &range) {
    return by_md5 ? to_base64(md5(range)) : crc32c_text(crc32c(range));
  };
  const std::string sum = by_md5 ? sum_of(*bytes) : crc32c_text(expected_crc32c(*bytes));
  const std::string checksum = by_md5 ? "" : sum;
  call.request.headers.push_back({by_md5 ? "Content-MD5" : checksum_header, sum});
  call.before_retry = [=, tried = call.tried](http::HttpRequest &) {
    require_unchanged(tried, *bytes, sum_of(*bytes) == sum);
  };
  if (protocol_->signs_payload())
    call.request.headers.push_back({"x-amz-content-sha256", to_hex(sha256(*bytes))});
  call.check = [checksum](const http::HttpResponse &answer) -> std::optional<Refusal> {
    const std::string stored = answer.header(checksum_header);
    if (stored.empty() || checksum.empty() || stored == checksum) return std::nullopt;
    return Refusal{Code::corrupt, Again::soon, "the store has other bytes than were sent", ""};
  };
  return checksum;
}

void S3Objects::put(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
                    bool only_new) {
  Call call{.tried = "storing '" + name_of(key) + "'", .request = object_request("PUT", key)};
  add_kind(call.request);
  if (only_new) call.request.headers.push_back({"If-None-Match", "*"});
  const std::string checksum = add_bytes(call, bytes);
  bool again = false;
  call.before_retry = [&, unchanged = call.before_retry](http::HttpRequest &request) {
    again = true;
    unchanged(request);
  };
  try {
    requests_.perform(std::move(call));
  } catch (const Error &e) {
    // It may be the one whose answer was lost that is in the way.
    if (!only_new || !again || e.code != Code::conflict || !is_there(key, bytes->size(), checksum))
      throw;
  }
}

void S3Objects::get(const std::string &key, uint64_t offset, uint64_t size,
                    const std::string &version, const std::shared_ptr<http::BodySink> &sink) {
  Call call{.tried = "reading '" + name_of(key) + "'", .request = object_request("GET", key)};
  // The store tells a checksum only of what was not asked for by its range.
  const bool is_whole = offset == 0 && size == UINT64_MAX;
  const auto sum = is_whole ? std::make_shared<SummingSink>(sink) : nullptr;
  const auto download =
      std::make_shared<Download>(offset, size, sum ? std::shared_ptr<http::BodySink>(sum) : sink);
  call.request.sink = download;
  call.expected = {200, 206, 416};
  std::string pinned = version;
  const auto began = std::chrono::steady_clock::now();
  const auto ask_rest = [&](http::HttpRequest &request) {
    if (pinned.empty() && download->done() > 0) pinned = unchanged_version(key, began);
    request.headers.clear();
    const bool whole = is_whole && download->done() == 0;
    if (whole && options_->checksum == S3Options::Checksum::crc32c)
      request.headers.push_back({"x-amz-checksum-mode", "ENABLED"});
    if (!whole) request.headers.push_back({"Range", download->next_range()});
    if (!pinned.empty()) request.headers.push_back({"If-Match", "\"" + pinned + "\""});
  };
  ask_rest(call.request);
  call.before_retry = ask_rest;
  call.check = [&](const http::HttpResponse &answer) { return download->check(answer); };
  const std::string tried = call.tried;
  const http::HttpResponse answer = requests_.perform(std::move(call));
  const std::string stored = answer.header(checksum_header);
  const bool of_parts = stored.find('-') != stored.npos;  // a sum of sums
  if (sum && answer.status == 200 && !stored.empty() && !of_parts &&
      stored != crc32c_text(sum->sum()))
    throw Error(Code::corrupt, tried + ": other bytes came than the store has; try again");
}

// Where the caller does not care which version it gets, it must still be one of them.
std::string S3Objects::unchanged_version(const std::string &key,
                                         std::chrono::steady_clock::time_point since) {
  const auto found = look(key);
  const auto elapsed =
      std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - since);
  if (!found || !found->date ||
      *found->date - found->info.modified_ms / 1000 <= elapsed.count() + 1)
    throw Error(Code::unavailable,
                "reading '" + name_of(key) +
                    "': it was cut off, and may have been replaced since; try again");
  return found->info.version;
}

// Many keys at once: listed, and removed.

void S3Objects::list(const std::string &prefix,
                     const std::function<void(const ObjectInfo &)> &each) {
  const std::string tried = "listing '" + name_of(prefix) + "'";
  std::string from;
  do {
    S3Query query{{"encoding-type", "url"}, {"list-type", "2"}, {"prefix", prefix}};
    if (!from.empty()) query.insert(query.begin(), {"continuation-token", from});
    ObjectPage page;
    ask(tried, s3_request("GET", "", query),
        [&](const std::string &body) { page = read_object_page(body, "the list of keys"); });
    for (const ObjectInfo &found : page.objects) {
      if (!found.key.starts_with(prefix)) refuse_list(tried, "lists what was not asked for");
      each(found);
    }
    if (!page.next.empty() && page.next == from) refuse_list(tried, "begins again and again");
    from = page.next;
  } while (!from.empty());
}

std::vector<PendingUpload> S3Objects::list_uploads(const std::string &prefix) {
  const std::string tried = "listing the uploads of '" + name_of(prefix) + "'";
  // MinIO takes every prefix for a whole key; without one it lists all that it knows of.
  const std::string asked = prefix.ends_with('/') && protocol_->is_minio() ? "" : prefix;
  std::vector<PendingUpload> uploads;
  std::string key, upload;
  do {
    S3Query query{{"encoding-type", "url"}, {"prefix", asked}, {"uploads", ""}};
    if (!key.empty()) query.insert(query.begin() + 1, {"key-marker", key});
    if (!upload.empty()) query.push_back({"upload-id-marker", upload});
    UploadPage page;
    try {
      ask(tried, s3_request("GET", "", query),
          [&](const std::string &body) { page = read_upload_page(body, "the list of uploads"); });
    } catch (const Error &error) {
      // versitygw does not know the marker again that it gave: on with the next key.
      if (error.code != Code::invalid || upload.empty()) throw;
      upload.clear();
      continue;
    }
    for (PendingUpload &found : page.uploads) {
      if (!found.key.starts_with(asked)) refuse_list(tried, "lists what was not asked for");
      if (found.key.starts_with(prefix)) uploads.push_back(std::move(found));
    }
    if (!page.next_key.empty() && page.next_key == key && page.next_upload == upload)
      refuse_list(tried, "begins again and again");
    key = page.next_key;
    upload = page.next_upload;
  } while (!key.empty());
  return uploads;
}

void S3Objects::remove(const std::vector<std::string> &keys) {
  std::vector<std::string> page;
  const auto remove_these = [&] {
    if (!page.empty()) remove_page(page);
    page.clear();
  };
  for (const std::string &key : keys) {
    if (!fits_xml(key)) {
      remove_one(key);
      continue;
    }
    page.push_back(key);
    if (page.size() == keys_at_once) remove_these();
  }
  remove_these();
}

void S3Objects::remove_page(const std::vector<std::string> &keys) {
  const std::string tried = "removing " + std::to_string(keys.size()) + " objects from 's3://" +
                            options_->bucket + "', '" + keys.front() + "' the first";
  Call call{.tried = tried, .request = s3_request("POST", "", {{"delete", ""}})};
  std::string &body = call.request.body;
  body = R"(<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>)";
  for (const std::string &key : keys)
    body += "<Object><Key>" + xml_escaped(key) + "</Key></Object>";
  body += "</Delete>";
  if (options_->checksum == S3Options::Checksum::md5)
    call.request.headers.push_back({"Content-MD5", to_base64(md5(body))});
  else call.request.headers.push_back({"x-amz-checksum-crc32c", crc32c_text(det::crc32c(body))});
  // Those that are gone already are gone the next time as well.
  call.check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
    if (!s3_error_code(answer).empty()) return protocol_->refusal_of(answer);
    for (const KeyRefusal &refused : read_removals(answer.body, "the answer")) {
      if (refused.code == "NoSuchKey") continue;
      Refusal refusal = s3_refusal(refused.code, refused.message, answer.status);
      refusal.reason += " ('" + refused.key + "')";
      return refusal;
    }
    return std::nullopt;
  };
  try {
    requests_.perform(std::move(call));
  } catch (const Error &e) {
    if (e.code != Code::unsupported) throw;
    for (const std::string &key : keys) remove_one(key);
  }
}

void S3Objects::remove_one(const std::string &key) {
  Call call{.tried = "removing '" + name_of(key) + "'", .request = object_request("DELETE", key)};
  call.expected = {200, 204, 404};
  call.check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
    if (answer.status != 404 || s3_error_code(answer) == "NoSuchKey") return std::nullopt;
    return protocol_->refusal_of(answer);
  };
  requests_.perform(std::move(call));
}

// Objects in parts.

std::string S3Objects::begin_parts(const std::string &key) {
  http::HttpRequest request = object_request("POST", key, {{"uploads", ""}});
  add_kind(request);
  if (options_->checksum == S3Options::Checksum::crc32c)
    request.headers.push_back({"x-amz-checksum-algorithm", "CRC32C"});
  std::string upload;
  ask("beginning to store '" + name_of(key) + "' in parts", std::move(request),
      [&](const std::string &body) {
        const XmlDocument answer(body, "InitiateMultipartUploadResult", "the answer");
        upload = answer.text(answer.root(), "UploadId");
      });
  return upload;
}

StoredPart S3Objects::put_part(const std::string &key, const std::string &upload, int number,
                               const std::shared_ptr<ByteRange> &bytes) {
  Call call{.tried = "storing part " + std::to_string(number) + " of '" + name_of(key) + "'",
            .request = object_request(
                "PUT", key, {{"partNumber", std::to_string(number)}, {"uploadId", upload}})};
  StoredPart part{number, bytes->size(), {}, {}};
  part.checksum = add_bytes(call, bytes);
  const std::string tried = call.tried;
  part.version = unquoted(requests_.perform(std::move(call)).header("etag"));
  if (part.version.empty())
    throw Error(Code::corrupt, tried +
                                   ": the store gave it no ETag; something between this machine "
                                   "and the store takes headers away");
  return part;
}

std::vector<StoredPart> S3Objects::list_parts(const std::string &key, const std::string &upload) {
  const std::string tried = "listing the parts of '" + name_of(key) + "'";
  std::vector<StoredPart> parts;
  std::string from;
  do {
    S3Query query{{"uploadId", upload}};
    if (!from.empty()) query.insert(query.begin(), {"part-number-marker", from});
    PartPage page;
    ask(tried, object_request("GET", key, query),
        [&](const std::string &body) { page = read_part_page(body, "the list of parts"); });
    parts.insert(parts.end(), page.parts.begin(), page.parts.end());
    if (!page.next.empty() && page.next == from)
      throw Error(Code::corrupt, tried + ": the store begins again and again");
    from = page.next;
  } while (!from.empty());
  return parts;
}

// What stands in the end is compared with what was sent: by the checksum where the store tells it,
// else by the size.
void S3Objects::complete_parts(const std::string &key, const std::string &upload,
                               const std::vector<StoredPart> &parts) {
  const std::string tried = "putting together '" + name_of(key) + "'";
  if (parts.empty()) throw Error(Code::invalid, tried + ": it has no parts");
  const std::string expected = s3_checksum(parts).value_or("");
  std::string stored;
  http::HttpRequest request = object_request("POST", key, {{"uploadId", upload}});
  request.body = list_of(parts);
  try {
    ask(
        tried, std::move(request),
        [&](const std::string &body) {
          const XmlDocument answer(body, "CompleteMultipartUploadResult", "the answer");
          stored = answer.root().child("ChecksumCRC32C").text().get();
        },
        true);
  } catch (const Error &e) {
    // An earlier attempt, of this process or of one before it, may have done it without our
    // hearing of it.
    if (e.code != Code::not_found || !is_there(key, size_of(parts), expected)) throw;
    return;
  }
  const bool comparable = !expected.empty() && stored.find('-') != stored.npos;
  if (comparable ? stored != expected : !is_there(key, size_of(parts), expected))
    throw Error(Code::corrupt,
                tried + ": the store has other bytes than were sent; store it again");
}

void S3Objects::abort_parts(const std::string &key, const std::string &upload) {
  Call call{.tried = "dropping the parts of '" + name_of(key) + "'",
            .request = object_request("DELETE", key, {{"uploadId", upload}})};
  call.expected = {200, 204, 404};
  requests_.perform(std::move(call));
}

std::string S3Objects::checksum_of(ByteRange &bytes) {
  return options_->checksum == S3Options::Checksum::crc32c ? crc32c_text(crc32c(bytes)) : "";
}

// Copies within a bucket, without the bytes coming here.

void S3Objects::add_source(http::HttpRequest &request, const ObjectInfo &from) const {
  request.headers.push_back(
      {"x-amz-copy-source", "/" + options_->bucket + "/" + percent_encoded(from.key, "/")});
  request.headers.push_back({"x-amz-copy-source-if-match", "\"" + from.version + "\""});
}

bool S3Objects::copy(const std::string &from, const std::string &to) {
  const std::string tried = "copying '" + name_of(from) + "' to '" + name_of(to) + "'";
  const auto found = find(from);
  if (!found) throw Error(Code::not_found, tried + ": there is no such object");
  if (from == to) return true;
  try {
    if (found->size > limits_.put_max) {
      copy_in_parts(*found, to);
      return true;
    }
    http::HttpRequest request = object_request("PUT", to);
    add_kind(request);
    add_source(request, *found);
    ask(
        tried, std::move(request),
        [](const std::string &body) { XmlDocument(body, "CopyObjectResult", "the answer"); }, true);
    return true;
  } catch (const Error &e) {
    if (e.code != Code::unsupported) throw;
    return false;
  }
}

void S3Objects::copy_in_parts(const ObjectInfo &from, const std::string &to) {
  const std::string upload = begin_parts(to);
  try {
    std::vector<StoredPart> parts;
    for (uint64_t offset = 0; offset < from.size; offset += copied_part)
      parts.push_back(copy_part(from, to, upload, static_cast<int>(parts.size()) + 1, offset,
                                std::min(copied_part, from.size - offset)));
    complete_parts(to, upload, parts);
  } catch (const std::exception &) {
    try {
      abort_parts(to, upload);
    } catch (const Error &e) {
      logger_->warning(e.what());
    }
    throw;
  }
}

StoredPart S3Objects::copy_part(const ObjectInfo &from, const std::string &to,
                                const std::string &upload, int number, uint64_t offset,
                                uint64_t size) {
  StoredPart part{number, size, {}, {}};
  http::HttpRequest request =
      object_request("PUT", to, {{"partNumber", std::to_string(number)}, {"uploadId", upload}});
  add_source(request, from);
  request.headers.push_back({"x-amz-copy-source-range", "bytes=" + std::to_string(offset) + "-" +
                                                            std::to_string(offset + size - 1)});
  ask(
      "copying part " + std::to_string(number) + " of '" + name_of(from.key) + "'",
      std::move(request),
      [&](const std::string &body) {
        const XmlDocument answer(body, "CopyPartResult", "the answer");
        part.version = unquoted(answer.text(answer.root(), "ETag"));
        part.checksum = answer.root().child("ChecksumCRC32C").text().get();
      },
      true);
  return part;
}

}  // namespace

std::shared_ptr<ObjectStore> open_s3(const Json &config, std::shared_ptr<Logger> logger,
                                     RequestPolicy policy) {
  const auto options = std::make_shared<const S3Options>(S3Options::from(config, *logger));
  return std::make_shared<S3Objects>(options, credential_chain(*options, logger), logger,
                                     std::move(policy));
}

}  // namespace det::cloud
