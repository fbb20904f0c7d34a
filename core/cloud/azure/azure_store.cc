#include "core/cloud/azure/azure_store.h"

#include <algorithm>
#include <charconv>

#include "core/base/base64.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/uuid.h"
#include "core/cloud/azure/azure_batch.h"
#include "core/cloud/azure/azure_refusal.h"
#include "core/cloud/digest.h"
#include "core/cloud/download.h"
#include "core/cloud/request_scope.h"
#include "core/http/date.h"

namespace det::cloud {

namespace {

using Again = Refusal::Again;

// Bodies up to this are held, and given on once they sum to what the store says.
constexpr uint64_t verified_max = uint64_t{1} << 20U;

http::HttpOptions http_options(const AzureConfig &config) {
  http::HttpOptions options;
  options.peer = {"Azure Blob Storage",
                  "give the certificates that it is to be trusted by in ca_bundle"};
  options.tls = config.tls;
  options.proxy = http::ProxyOptions::from_environment();
  return options;
}

// Which writer a blob is of that must be new.
constexpr const char *writer_mark = "x-ms-meta-detcore_writer";

// In headers they have quotation marks, in lists they do not.
std::string unquoted(std::string etag) {
  std::erase(etag, '"');
  return etag;
}

// A body that was held. What the store sums up is what it sent, also where that ends early.
std::optional<Refusal> take_verified(const http::HttpAnswer &answer, Download &download) {
  const std::string sum = answer.header("content-md5");
  if (answer.status == 206 && !sum.empty() && sum != to_base64(md5(answer.body)))
    return Refusal{Code::corrupt, Again::soon, "the bytes came damaged: their MD5 differs", ""};
  if (answer.status == 206) {
    download.begin();
    download.write(answer.body.data(), answer.body.size());
  }
  return download.check(answer);
}

void wait_a_second() {
  const RequestScope *scope = RequestScope::current();
  if (scope == nullptr) RequestScope(nullptr).wait(std::chrono::seconds(1));
  else scope->wait(std::chrono::seconds(1));
}

}  // namespace

std::shared_ptr<ObjectStore> open_azure(const Json &config, std::shared_ptr<Logger> logger) {
  AzureConfig read = azure_config(config);
  http::HttpOptions options = http_options(read);
  auto container = std::make_unique<AzureContainer>(std::move(read), std::move(options),
                                                    RequestPolicy{}, logger);
  container->make();
  return std::make_shared<AzureStore>(std::move(container));
}

AzureStore::AzureStore(std::unique_ptr<AzureContainer> container)
    : container_(std::move(container)) {
  limits_.put_max = uint64_t{4000} << 20U;
  limits_.part_min = 1;
  limits_.parts_max = 50'000;
  limits_.key_max = 1024 - container_->config().address.folder.size();
}

std::string AzureStore::tried(const char *what, const std::string &key) const {
  return std::string(what) + " '" + name_of(key) + "'";
}

void AzureStore::put(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
                     bool only_new) {
  const std::string sum = to_base64(md5(*bytes));
  Call call{.tried = tried("storing", key),
            .request = container_->content_request("PUT", container_->url_of(key)),
            .expected = {201}};
  call.request.source = bytes;
  call.request.headers.push_back({"x-ms-blob-type", "BlockBlob"});
  call.request.headers.push_back({"Content-MD5", sum});
  container_->add_properties(call.request);
  const std::string writer = make_uuid();
  if (only_new) {
    call.request.headers.push_back({"If-None-Match", "*"});
    call.request.headers.push_back({writer_mark, writer});
  }
  bool again = false;
  call.before_retry = [&, tried = call.tried](http::HttpRequest &) {
    again = true;
    require_unchanged(tried, *bytes, to_base64(md5(*bytes)) == sum);
  };
  try {
    container_->perform(std::move(call));
  } catch (const Error &error) {
    // What is there may be what an attempt before brought, whose answer was lost.
    if (error.code != Code::conflict || !only_new || !again || writer_of(key) != writer) throw;
  }
}

std::string AzureStore::writer_of(const std::string &key) {
  return container_
      ->perform({.tried = tried("looking for", key),
                 .request = container_->content_request("HEAD", container_->url_of(key)),
                 .expected = {200, 404}})
      .header(writer_mark);
}

void AzureStore::get(const std::string &key, uint64_t offset, uint64_t size,
                     const std::string &version, const std::shared_ptr<http::BodySink> &sink) {
  const auto download = std::make_shared<Download>(offset, size, sink);
  const bool is_verified = size > 0 && size <= verified_max;
  Call call{.tried = tried("reading", key),
            .request = container_->content_request("GET", container_->url_of(key)),
            .expected = {200, 206, 416}};
  auto &headers = call.request.headers;
  if (!version.empty()) headers.push_back({"If-Match", "\"" + version + "\""});
  if (is_verified) headers.push_back({"x-ms-range-get-content-md5", "true"});
  else call.request.sink = download;
  headers.push_back({"Range", download->next_range()});
  call.check = [&](const http::HttpAnswer &answer) {
    return is_verified ? take_verified(answer, *download) : download->check(answer);
  };
  call.before_retry = [&](http::HttpRequest &again) {
    again.headers.back().value = download->next_range();
  };
  container_->perform(std::move(call));
}

std::optional<ObjectInfo> AzureStore::find(const std::string &key) {
  Call call{.tried = tried("looking for", key),
            .request = container_->content_request("HEAD", container_->url_of(key)),
            .expected = {200, 404}};
  call.check = [](const http::HttpAnswer &answer) -> std::optional<Refusal> {
    if (answer.status == 404 && azure_error_code(answer) == "ContainerNotFound")
      return azure_refusal(answer);
    return std::nullopt;
  };
  const http::HttpAnswer answer = container_->perform(std::move(call));
  if (answer.status == 404) return std::nullopt;
  ObjectInfo found{key, 0, unquoted(answer.header("etag")), 0};
  const std::string size = answer.header("content-length");
  std::from_chars(size.data(), size.data() + size.size(), found.size);
  found.modified_ms = http::parse_date(answer.header("last-modified")).value_or(0) * 1000;
  return found;
}

void AzureStore::remove(const std::vector<std::string> &keys) {
  for (size_t begin = 0; begin < keys.size(); begin += batch_max) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin);
    const size_t count = std::min(batch_max, keys.size() - begin);
    container_->remove({first, first + static_cast<std::ptrdiff_t>(count)});
  }
}

bool AzureStore::copy(const std::string &from, const std::string &to) {
  if (!container_->config().customer_key.empty()) return false;  // the service does not have it
  Call call{.tried = tried("copying", from) + " to '" + name_of(to) + "'",
            .request = {.method = "PUT",
                        .url = container_->url_of(to),
                        .headers = {{"x-ms-copy-source", container_->readable_url_of(from)}}},
            .expected = {202}};
  if (!container_->config().access_tier.empty())
    call.request.headers.push_back({"x-ms-access-tier", container_->config().access_tier});
  const std::string what = call.tried;
  http::HttpAnswer answer = container_->perform(std::move(call));
  while (answer.header("x-ms-copy-status") == "pending") {
    wait_a_second();
    answer = container_->perform(
        {.tried = what, .request = container_->content_request("HEAD", container_->url_of(to))});
  }
  if (answer.header("x-ms-copy-status") != "success")
    throw Error(Code::unavailable,
                what + ": the store gave up: " + answer.header("x-ms-copy-status-description") +
                    "; try again later");
  return true;
}

}  // namespace det::cloud
