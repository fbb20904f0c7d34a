#include "core/cloud/s3/s3_bucket.h"

#include <algorithm>
#include <charconv>

#include "core/base/base64.h"
#include "core/cloud/digest.h"
#include "core/cloud/download.h"
#include "core/cloud/s3/s3_answers.h"
#include "core/cloud/s3/s3_checksum.h"
#include "core/cloud/s3/s3_refusal.h"
#include "core/cloud/xml.h"
#include "core/http/date.h"

namespace det::cloud {

namespace {

using Again = Refusal::Again;

constexpr const char *checksum_header = "x-amz-checksum-crc32c";

http::HttpOptions http_options(const S3Options &options) {
  http::HttpOptions http;
  http.peer = {"the object store",
               "give the certificate of its authority in ca_bundle or AWS_CA_BUNDLE"};
  http.http2 = false;  // many connections carry more than the streams of one
  http.tls = options.tls;
  http.proxy = http::ProxyOptions::from_environment();
  http.answer_limit = size_t{64} << 20U;
  return http;
}

}  // namespace

S3Bucket::S3Bucket(const S3Options &options, std::shared_ptr<CredentialChain> credentials,
                   std::shared_ptr<Logger> logger, RequestPolicy policy)
    : options_(options),
      logger_(logger),
      dialect_(std::make_shared<S3Dialect>(options, std::move(credentials), logger)),
      requests_(http_options(options), std::move(policy), dialect_, std::move(logger)) {}

std::string S3Bucket::name_of(const std::string &key) const {
  return "s3://" + options_.bucket + "/" + key;
}

http::HttpRequest S3Bucket::object_request(const std::string &method, const std::string &key,
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

http::HttpAnswer S3Bucket::ask(const std::string &tried, http::HttpRequest request,
                               const std::function<void(const std::string &)> &read,
                               bool takes_long) {
  Call call{.tried = tried, .request = std::move(request)};
  call.takes_long = takes_long;
  call.check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
    try {
      read(answer.body);
      return std::nullopt;
    } catch (const Error &) {
      if (s3_error_code(answer).empty()) throw;
      return dialect_->refusal_of(answer);
    }
  };
  return requests_.perform(std::move(call));
}

std::optional<S3Bucket::Found> S3Bucket::look(const std::string &key, bool with_checksum) {
  Call call{.tried = "looking at '" + name_of(key) + "'", .request = object_request("HEAD", key)};
  if (with_checksum) call.request.headers.push_back({"x-amz-checksum-mode", "ENABLED"});
  call.expected = {200, 404};
  http::HttpAnswer answer;
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
void S3Bucket::say_why(const std::string &key, const std::string &tried) {
  Call call{.tried = tried, .request = object_request("GET", key)};
  call.request.headers.push_back({"Range", "bytes=0-0"});
  call.expected = {200, 206, 404, 416};
  requests_.perform(std::move(call));
}

std::optional<ObjectInfo> S3Bucket::find(const std::string &key) {
  const auto found = look(key);
  if (!found) return std::nullopt;
  return found->info;
}

// Whether an object of that size, and with that checksum where the store tells one, stands there:
// what an answer that was lost would have said.
bool S3Bucket::is_there(const std::string &key, uint64_t size, const std::string &checksum) {
  const auto found = look(key, true);
  return found && found->info.size == size &&
         (checksum.empty() || found->checksum.empty() || found->checksum == checksum);
}

void S3Bucket::add_kind(http::HttpRequest &request) const {
  const std::pair<const char *, const std::string &> kinds[] = {
      {"x-amz-server-side-encryption", options_.sse},
      {"x-amz-server-side-encryption-aws-kms-key-id", options_.sse_kms_key_id},
      {"x-amz-storage-class", options_.storage_class}};
  for (const auto &[name, value] : kinds)
    if (!value.empty()) request.headers.push_back({name, value});
}

// The store verifies the bytes, and what it says of them is compared.
std::string S3Bucket::add_bytes(Call &call, const std::shared_ptr<ByteRange> &bytes) const {
  call.request.source = bytes;
  const bool by_md5 = options_.checksum == S3Options::Checksum::md5;
  const auto sum_of = [by_md5](ByteRange &range) {
    return by_md5 ? to_base64(md5(range)) : crc32c_text(crc32c(range));
  };
  const std::string sum = by_md5 ? sum_of(*bytes) : crc32c_text(expected_crc32c(*bytes));
  const std::string checksum = by_md5 ? "" : sum;
  call.request.headers.push_back({by_md5 ? "Content-MD5" : checksum_header, sum});
  call.before_retry = [=, tried = call.tried](http::HttpRequest &) {
    require_unchanged(tried, *bytes, sum_of(*bytes) == sum);
  };
  if (dialect_->signs_payload())
    call.request.headers.push_back({"x-amz-content-sha256", to_hex(sha256(*bytes))});
  call.check = [checksum](const http::HttpAnswer &answer) -> std::optional<Refusal> {
    const std::string stored = answer.header(checksum_header);
    if (stored.empty() || checksum.empty() || stored == checksum) return std::nullopt;
    return Refusal{Code::corrupt, Again::soon, "the store has other bytes than were sent", ""};
  };
  return checksum;
}

void S3Bucket::put(const std::string &key, const std::shared_ptr<ByteRange> &bytes, bool only_new) {
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

void S3Bucket::get(const std::string &key, uint64_t offset, uint64_t size,
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
    if (whole && options_.checksum == S3Options::Checksum::crc32c)
      request.headers.push_back({"x-amz-checksum-mode", "ENABLED"});
    if (!whole) request.headers.push_back({"Range", download->next_range()});
    if (!pinned.empty()) request.headers.push_back({"If-Match", "\"" + pinned + "\""});
  };
  ask_rest(call.request);
  call.before_retry = ask_rest;
  call.check = [&](const http::HttpAnswer &answer) { return download->check(answer); };
  const std::string tried = call.tried;
  const http::HttpAnswer answer = requests_.perform(std::move(call));
  const std::string stored = answer.header(checksum_header);
  const bool of_parts = stored.find('-') != stored.npos;  // a sum of sums
  if (sum && answer.status == 200 && !stored.empty() && !of_parts && stored != sum->checksum())
    throw Error(Code::corrupt, tried + ": other bytes came than the store has; try again");
}

// Where the caller does not care which version it gets, it must still be one of them.
std::string S3Bucket::unchanged_version(const std::string &key,
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

bool S3Bucket::is_minio() {
  std::call_once(probed_, [this] { is_minio_ = says_minio(); });
  return is_minio_;
}

// What it says of itself; a store that says nothing is none.
bool S3Bucket::says_minio() const {
  if (dialect_->endpoint().custom().empty()) return false;
  try {
    http::HttpOptions options = http_options(options_);
    options.retry.total = 0;
    http::HttpClient client(options, logger_);
    http::HttpRequest request{.url = dialect_->endpoint().custom() + "/"};
    request.keep_headers = true;
    request.connect_timeout = request.timeout = std::chrono::seconds{10};
    std::string server = client.perform(std::move(request)).header("server");
    for (char &c : server)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return server == "minio";
  } catch (const Error &e) {
    logger_->debug("asking the object store who it is: ", e.what());
    return false;
  }
}

}  // namespace det::cloud
