#include "core/cloud/azure/azure_objects.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/base/text/base64.h"
#include "core/base/text/percent.h"
#include "core/base/text/utf8.h"
#include "core/base/uuid.h"
#include "core/cloud/azure/azure_protocol.h"
#include "core/cloud/batch.h"
#include "core/cloud/digest.h"
#include "core/cloud/download.h"
#include "core/cloud/object_store.h"
#include "core/cloud/xml.h"
#include "core/http/date.h"

namespace det::cloud {

namespace {

constexpr size_t batch_max = 256;  // requests in one that the service takes
constexpr size_t longest = 1024;
constexpr int most_segments = 254;

const char *fault_of(std::string_view name) {
  if (name.empty()) return "it is empty";
  if (name.size() > longest) return "it has more than 1,024 bytes";
  if (!is_utf8(name)) return "it is not UTF-8";
  if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; }) ||
      !fits_xml(name))
    return "it has control characters";
  if (name.find('\\') != name.npos) return "Azure makes '\\' a '/'";
  if (std::ranges::count(name, '/') >= most_segments) return "it has more than 254 segments";
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view segment = rest.substr(0, rest.find('/'));
    if (segment.ends_with('.')) return "Azure drops dots at the end of a segment";
    rest.remove_prefix(std::min(segment.size() + 1, rest.size()));
  }
  return nullptr;
}

// Whether a blob can have that name; throws Code::invalid for what Azure refuses, or takes and
// stores under another name. `shown` is for the message.
void check_azure_key(const std::string &name, const std::string &shown) {
  if (const char *fault = fault_of(name))
    throw Error(Code::invalid,
                "naming a blob '" + shown + "': " + fault + "; give the file another name");
}

// Azure has no uploads, only blocks of a blob that are not committed: their ids, of 64 bytes at
// most and all of one length, tell which upload they belong to, which part each is and what it sums
// to.
struct BlockId {
  std::string upload;
  int number = 0;
  std::string md5;  // of the part, as bytes

  std::string text() const;  // as the service takes it: base64
  static std::optional<BlockId> from(const std::string &text);
};

constexpr size_t upload_size = 16, number_size = 5, md5_size = 16;

std::string BlockId::text() const {
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%05d", number);
  return to_base64(upload + digits.data() + md5);
}

std::optional<BlockId> BlockId::from(const std::string &text) {
  const auto bytes = from_base64(text);
  if (!bytes || bytes->size() != upload_size + number_size + md5_size) return std::nullopt;
  const char *digits = bytes->data() + upload_size;
  BlockId id{bytes->substr(0, upload_size), 0, bytes->substr(upload_size + number_size)};
  if (id.upload.find_first_not_of("0123456789abcdef") != id.upload.npos ||
      std::from_chars(digits, digits + number_size, id.number).ptr != digits + number_size ||
      id.number < 1)
    return std::nullopt;
  return id;
}

// When it was begun, in hexadecimal seconds, and something random.
std::string make_upload_id(int64_t now_s) {
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), "%08llx", static_cast<unsigned long long>(now_s));
  return time.data() + make_uuid().substr(0, 8);
}

// Since 1970.
int64_t upload_begun_ms(const std::string &upload) {
  int64_t seconds = 0;
  std::from_chars(upload.data(), upload.data() + std::min<size_t>(8, upload.size()), seconds, 16);
  return seconds * 1000;
}

// A container of Azure Blob Storage: the names and URLs of its blobs, and requests to it.
class AzureContainer {
 public:
  AzureContainer(AzureConfig config, http::HttpOptions http, RequestPolicy policy,
                 const std::shared_ptr<Logger> &logger);

  // The same for the calls of `scope`, which must outlive them. Copies share their connections.
  AzureContainer within(RequestScope &scope) const;

  // Where the configuration says so and it may. Throws where there is no such container, or nobody
  // answers.
  void make() const;

  const AzureConfig &config() const { return *config_; }
  std::string name_of(const std::string &key) const;  // "azure://container/folder/key"

  // `query` without '?'. Throws Code::invalid for a key that no blob can have.
  std::string url_of(const std::string &key, const std::string &query = "") const;
  std::string url(const std::string &query) const;

  http::HttpResponse perform(Call call) const { return requests_.perform(std::move(call)); }
  // For what the service is still busy with.
  void wait(std::chrono::milliseconds time) const { requests_.wait(time); }
  // An answer in XML. One that is damaged is asked for again.
  std::unique_ptr<XmlDocument> ask(const std::string &tried, const std::string &url,
                                   const char *root) const;

  // A request for the content of a blob: never compressed, and with the key of the customer.
  http::HttpRequest content_request(const char *method, std::string url) const;
  // Adds what is to hold for a blob that is written.
  void add_properties(http::HttpRequest &request) const;
  // Removes blobs, at most batch_max; absent is fine.
  void remove(std::vector<std::string> keys) const;
  // As what the service is to read in our name.
  std::string readable_url_of(const std::string &key) const;

 private:
  bool is_there() const;
  std::optional<Refusal> refusal_of_removal(const http::HttpResponse &answer,
                                            const std::string &key) const;
  void remove_one(const std::string &key) const;
  http::HttpRequest removal_of(const std::string &key) const;

  const std::shared_ptr<const AzureConfig> config_;
  const std::string url_;
  const std::shared_ptr<AzureProtocol> protocol_;
  const std::shared_ptr<Logger> logger_;
  Requests requests_;
};

AzureContainer::AzureContainer(AzureConfig config, http::HttpOptions http, RequestPolicy policy,
                               const std::shared_ptr<Logger> &logger)
    : config_(std::make_shared<const AzureConfig>(std::move(config))),
      url_(config_->address.endpoint + "/" + percent_encoded(config_->address.container)),
      protocol_(std::make_shared<AzureProtocol>(azure_credentials(*config_, http, logger), logger)),
      logger_(logger),
      requests_(std::move(http), std::move(policy), protocol_, logger) {}

AzureContainer AzureContainer::within(RequestScope &scope) const {
  AzureContainer some = *this;
  some.requests_ = requests_.within(&scope);
  return some;
}

void AzureContainer::make() const {
  const std::string name = "'azure://" + config_->address.container + "'";
  if (!config_->makes_container)
    return logger_->warning("account_url names a container, ", name,
                            ": it is not made, and blobs go below '" + config_->address.folder +
                                "' in it; give account_url without its path where that is wrong");
  if (config_->anonymous) return;
  Call call{.tried = "making the container " + name,
            .request = {.method = "PUT", .url = url("restype=container")},
            .expected = {201, 400, 409}};
  bool odd = false;
  call.check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
    const std::string code = azure_error_code(answer);
    odd = code == "InvalidUri";
    if (answer.status == 201 || code == "ContainerAlreadyExists" || odd) return std::nullopt;
    return protocol_->refusal_of(answer);
  };
  try {
    requests_.perform(std::move(call));
  } catch (const Error &error) {
    // Who may not make containers may well use one.
    if (error.code != Code::access || !is_there()) throw;
    logger_->debug(error.what());
  }
  if (odd)
    logger_->warning("the store takes ", name,
                     " for no container that can be made; it is used unchanged");
}

// Who may only write does not see it either; that is found out soon enough.
bool AzureContainer::is_there() const {
  try {
    ask("looking into the container 'azure://" + config_->address.container + "'",
        url("restype=container&comp=list&maxresults=1"), "EnumerationResults");
    return true;
  } catch (const Error &error) {
    if (error.code == Code::not_found) throw;
    return false;
  }
}

std::string AzureContainer::name_of(const std::string &key) const {
  return "azure://" + config_->address.container + "/" + config_->address.folder + key;
}

std::string AzureContainer::url_of(const std::string &key, const std::string &query) const {
  check_azure_key(config_->address.folder + key, name_of(key));
  return url_ + "/" + percent_encoded(config_->address.folder + key, "/") +
         (query.empty() ? "" : "?" + query);
}

std::string AzureContainer::url(const std::string &query) const { return url_ + "?" + query; }

std::unique_ptr<XmlDocument> AzureContainer::ask(const std::string &tried, const std::string &url,
                                                 const char *root) const {
  std::unique_ptr<XmlDocument> read;
  Call call{.tried = tried, .request = {.url = url}};
  call.check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
    read = std::make_unique<XmlDocument>(answer.body, root, "the answer");
    return std::nullopt;
  };
  requests_.perform(std::move(call));
  return read;
}

http::HttpRequest AzureContainer::content_request(const char *method, std::string url) const {
  http::HttpRequest request{.method = method, .url = std::move(url), .compressed = false};
  if (config_->customer_key.empty()) return request;
  request.headers.push_back({"x-ms-encryption-key", to_base64(config_->customer_key)});
  request.headers.push_back(
      {"x-ms-encryption-key-sha256", to_base64(sha256(config_->customer_key))});
  request.headers.push_back({"x-ms-encryption-algorithm", "AES256"});
  return request;
}

void AzureContainer::add_properties(http::HttpRequest &request) const {
  if (!config_->access_tier.empty())
    request.headers.push_back({"x-ms-access-tier", config_->access_tier});
  if (!config_->encryption_scope.empty())
    request.headers.push_back({"x-ms-encryption-scope", config_->encryption_scope});
}

std::string AzureContainer::readable_url_of(const std::string &key) const {
  return protocol_->credentials().readable(url_of(key));
}

// Blobs are removed many at a time.

http::HttpRequest AzureContainer::removal_of(const std::string &key) const {
  return {
      .method = "DELETE", .url = url_of(key), .headers = {{"x-ms-delete-snapshots", "include"}}};
}

// Nothing where the blob is gone.
std::optional<Refusal> AzureContainer::refusal_of_removal(const http::HttpResponse &answer,
                                                          const std::string &key) const {
  if (answer.status == 202) return std::nullopt;
  if (answer.status == 404 && azure_error_code(answer) != "ContainerNotFound") return std::nullopt;
  Refusal refusal = protocol_->refusal_of(answer);
  refusal.reason = "'" + name_of(key) + "': " + refusal.reason;
  return refusal;
}

void AzureContainer::remove_one(const std::string &key) const {
  Call call{.tried = "removing a blob", .request = removal_of(key), .expected = {202, 404}};
  call.check = [&](const http::HttpResponse &answer) { return refusal_of_removal(answer, key); };
  requests_.perform(std::move(call));
}

void AzureContainer::remove(std::vector<std::string> keys) const {
  if (keys.empty()) return;
  if (keys.size() == 1) return remove_one(keys.front());
  const std::string boundary = "batch_" + make_uuid();
  const auto fill = [&](http::HttpRequest &request) {
    std::vector<http::HttpRequest> parts;
    for (const std::string &key : keys)
      protocol_->sign_part(parts.emplace_back(removal_of(key)), requests_.scope());
    request.body = batch_body(boundary, parts);
  };
  Call call{.tried = "removing from 'azure://" + config_->address.container + "'",
            .request = {.method = "POST",
                        .url = url("restype=container&comp=batch"),
                        .headers = {{"Content-Type", "multipart/mixed; boundary=" + boundary}}},
            .expected = {202},
            .before_retry = fill};
  // Those that could not be removed are tried again, and no others.
  call.check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
    const std::vector<http::HttpResponse> answers = batch_answers(answer, keys.size());
    std::vector<std::string> left;
    std::optional<Refusal> first;
    for (size_t i = 0; i < keys.size(); ++i)
      if (auto refusal = refusal_of_removal(answers[i], keys[i])) {
        left.push_back(keys[i]);
        if (!first) first = std::move(refusal);
      }
    keys = std::move(left);
    return first;
  };
  fill(call.request);
  requests_.perform(std::move(call));
}

class AzureObjects : public ObjectStore {
 public:
  explicit AzureObjects(AzureContainer container);

  std::shared_ptr<ObjectStore> within(RequestScope &scope) override {
    return std::make_shared<AzureObjects>(container_.within(scope));
  }
  const ObjectLimits &limits() const override { return limits_; }
  std::string name_of(const std::string &key) const override { return container_.name_of(key); }

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

 private:
  std::string tried(const char *what, const std::string &key) const;
  // `include` is a parameter of List Blobs, or empty.
  void list_blobs(const std::string &prefix, const char *include,
                  const std::function<void(const ObjectInfo &)> &each);
  std::vector<std::pair<std::string, uint64_t>> pending_blocks(const std::string &key);
  std::string writer_of(const std::string &key);  // of one that was put as new

  AzureContainer container_;
  ObjectLimits limits_;
};

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
std::optional<Refusal> take_verified(const http::HttpResponse &answer, Download &download) {
  const std::string sum = answer.header("content-md5");
  if (answer.status == 206 && !sum.empty() && sum != to_base64(md5(answer.body)))
    return Refusal{Code::corrupt, Again::soon, "the bytes came damaged: their MD5 differs", ""};
  if (answer.status == 206) {
    download.begin();
    download.write(answer.body.data(), answer.body.size());
  }
  return download.check(answer);
}

std::string block_list(const std::vector<StoredPart> &parts) {
  std::string text = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  // Latest: also those that a lost attempt has committed already.
  for (const StoredPart &part : parts) text += "<Latest>" + xml_escaped(part.version) + "</Latest>";
  return text + "</BlockList>";
}

// What XML cannot say comes percent-encoded.
std::string name_in(const XmlDocument &answer, pugi::xml_node blob) {
  std::string name = answer.text(blob, "Name");
  return blob.child("Name").attribute("Encoded").as_bool() ? percent_decoded(name) : name;
}

AzureObjects::AzureObjects(AzureContainer container) : container_(std::move(container)) {
  limits_.put_max = uint64_t{4000} << 20U;
  limits_.part_min = 1;
  limits_.parts_max = 50'000;
  limits_.key_max = 1024 - container_.config().address.folder.size();
}

std::string AzureObjects::tried(const char *what, const std::string &key) const {
  return std::string(what) + " '" + name_of(key) + "'";
}

void AzureObjects::put(const std::string &key, const std::shared_ptr<ByteRange> &bytes,
                       bool only_new) {
  const std::string sum = to_base64(md5(*bytes));
  Call call{.tried = tried("storing", key),
            .request = container_.content_request("PUT", container_.url_of(key)),
            .expected = {201}};
  call.request.source = bytes;
  call.request.headers.push_back({"x-ms-blob-type", "BlockBlob"});
  call.request.headers.push_back({"Content-MD5", sum});
  container_.add_properties(call.request);
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
    container_.perform(std::move(call));
  } catch (const Error &error) {
    // What is there may be what an attempt before brought, whose answer was lost.
    if (error.code != Code::conflict || !only_new || !again || writer_of(key) != writer) throw;
  }
}

std::string AzureObjects::writer_of(const std::string &key) {
  return container_
      .perform({.tried = tried("looking for", key),
                .request = container_.content_request("HEAD", container_.url_of(key)),
                .expected = {200, 404}})
      .header(writer_mark);
}

void AzureObjects::get(const std::string &key, uint64_t offset, uint64_t size,
                       const std::string &version, const std::shared_ptr<http::BodySink> &sink) {
  const auto download = std::make_shared<Download>(offset, size, sink);
  const bool is_verified = size > 0 && size <= verified_max;
  Call call{.tried = tried("reading", key),
            .request = container_.content_request("GET", container_.url_of(key)),
            .expected = {200, 206, 416}};
  auto &headers = call.request.headers;
  if (!version.empty()) headers.push_back({"If-Match", "\"" + version + "\""});
  if (is_verified) headers.push_back({"x-ms-range-get-content-md5", "true"});
  else call.request.sink = download;
  headers.push_back({"Range", download->next_range()});
  call.check = [&](const http::HttpResponse &answer) {
    return is_verified ? take_verified(answer, *download) : download->check(answer);
  };
  call.before_retry = [&](http::HttpRequest &again) {
    again.headers.back().value = download->next_range();
  };
  container_.perform(std::move(call));
}

std::optional<ObjectInfo> AzureObjects::find(const std::string &key) {
  Call call{.tried = tried("looking for", key),
            .request = container_.content_request("HEAD", container_.url_of(key)),
            .expected = {200, 404}};
  call.check = [](const http::HttpResponse &answer) -> std::optional<Refusal> {
    if (answer.status == 404 && azure_error_code(answer) == "ContainerNotFound")
      return azure_refusal(answer);
    return std::nullopt;
  };
  const http::HttpResponse answer = container_.perform(std::move(call));
  if (answer.status == 404) return std::nullopt;
  ObjectInfo found{key, 0, unquoted(answer.header("etag")), 0};
  const std::string size = answer.header("content-length");
  std::from_chars(size.data(), size.data() + size.size(), found.size);
  found.modified_ms = http::parse_date(answer.header("last-modified")).value_or(0) * 1000;
  return found;
}

void AzureObjects::remove(const std::vector<std::string> &keys) {
  for (size_t begin = 0; begin < keys.size(); begin += batch_max) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin);
    const size_t count = std::min(batch_max, keys.size() - begin);
    container_.remove({first, first + static_cast<std::ptrdiff_t>(count)});
  }
}

bool AzureObjects::copy(const std::string &from, const std::string &to) {
  if (!container_.config().customer_key.empty()) return false;  // the service does not have it
  Call call{.tried = tried("copying", from) + " to '" + name_of(to) + "'",
            .request = {.method = "PUT",
                        .url = container_.url_of(to),
                        .headers = {{"x-ms-copy-source", container_.readable_url_of(from)}}},
            .expected = {202}};
  if (!container_.config().access_tier.empty())
    call.request.headers.push_back({"x-ms-access-tier", container_.config().access_tier});
  const std::string what = call.tried;
  http::HttpResponse answer = container_.perform(std::move(call));
  while (answer.header("x-ms-copy-status") == "pending") {
    container_.wait(std::chrono::seconds(1));
    answer = container_.perform(
        {.tried = what, .request = container_.content_request("HEAD", container_.url_of(to))});
  }
  if (answer.header("x-ms-copy-status") != "success")
    throw Error(Code::unavailable,
                what + ": the store gave up: " + answer.header("x-ms-copy-status-description") +
                    "; try again later");
  return true;
}

// Blobs in blocks: Azure's way of uploads in parts.

std::string AzureObjects::begin_parts(const std::string &key) {
  container_.url_of(key);  // refuses what no blob can be called
  return make_upload_id(now_us() / 1'000'000);
}

StoredPart AzureObjects::put_part(const std::string &key, const std::string &upload, int number,
                                  const std::shared_ptr<ByteRange> &bytes) {
  const BlockId id{upload, number, md5(*bytes)};
  Call call{.tried = "storing part " + std::to_string(number) + " of '" + name_of(key) + "'",
            .request = container_.content_request(
                "PUT", container_.url_of(key, "comp=block&blockid=" + percent_encoded(id.text()))),
            .expected = {201}};
  call.request.source = bytes;
  call.request.headers.push_back({"Content-MD5", to_base64(id.md5)});
  if (!container_.config().encryption_scope.empty())
    call.request.headers.push_back({"x-ms-encryption-scope", container_.config().encryption_scope});
  call.before_retry = [&, tried = call.tried](http::HttpRequest &) {
    require_unchanged(tried, *bytes, md5(*bytes) == id.md5);
  };
  container_.perform(std::move(call));
  return {number, bytes->size(), id.text(), to_base64(id.md5)};
}

std::vector<std::pair<std::string, uint64_t>> AzureObjects::pending_blocks(const std::string &key) {
  std::vector<std::pair<std::string, uint64_t>> blocks;
  try {
    const auto answer = container_.ask(
        tried("listing the parts of", key),
        container_.url_of(key, "comp=blocklist&blocklisttype=uncommitted"), "BlockList");
    const pugi::xml_node list = answer->root().child("UncommittedBlocks");
    for (const pugi::xml_node block : list.children("Block"))
      blocks.emplace_back(answer->text(block, "Name"), answer->number(block, "Size"));
  } catch (const Error &error) {
    if (error.code != Code::not_found) throw;
  }
  return blocks;
}

std::vector<StoredPart> AzureObjects::list_parts(const std::string &key,
                                                 const std::string &upload) {
  std::map<int, StoredPart> parts;
  for (const auto &[text, size] : pending_blocks(key))
    if (const auto id = BlockId::from(text); id && id->upload == upload)
      parts[id->number] = {id->number, size, text, to_base64(id->md5)};
  std::vector<StoredPart> listed;
  for (auto &[number, part] : parts) listed.push_back(std::move(part));
  return listed;
}

void AzureObjects::complete_parts(const std::string &key, const std::string &,
                                  const std::vector<StoredPart> &parts) {
  Call call{.tried = tried("completing", key),
            .request = container_.content_request("PUT", container_.url_of(key, "comp=blocklist")),
            .expected = {201}};
  call.request.body = block_list(parts);
  call.request.headers.push_back({"Content-Type", "application/xml"});
  call.request.headers.push_back({"Content-MD5", to_base64(md5(call.request.body))});
  container_.add_properties(call.request);
  container_.perform(std::move(call));
}

// Only a commit drops blocks: of none of them, where the blob has no content yet. That empty blob
// goes at once. Where it has some, its blocks are left to the service, which drops them in a week.
void AzureObjects::abort_parts(const std::string &key, const std::string &upload) {
  if (list_parts(key, upload).empty()) return;
  Call call{.tried = tried("aborting the upload of", key),
            .request = container_.content_request("PUT", container_.url_of(key, "comp=blocklist")),
            .expected = {201, 409, 412}};
  call.request.body = block_list({});
  call.request.headers.push_back({"Content-Type", "application/xml"});
  call.request.headers.push_back({"If-None-Match", "*"});
  call.check = [](const http::HttpResponse &answer) -> std::optional<Refusal> {
    const Refusal refusal = azure_refusal(answer);
    if (answer.status == 201 || refusal.code == Code::conflict) return std::nullopt;
    return refusal;
  };
  const http::HttpResponse answer = container_.perform(std::move(call));
  if (answer.status != 201) return;
  call = {.tried = tried("aborting the upload of", key),
          .request = {.method = "DELETE",
                      .url = container_.url_of(key),
                      .headers = {{"If-Match", answer.header("etag")}}},
          .expected = {202, 404, 412}};
  container_.perform(std::move(call));
}

std::string AzureObjects::checksum_of(ByteRange &bytes) { return to_base64(md5(bytes)); }

// What the container holds: its blobs, and those that have not been committed yet.

void AzureObjects::list_blobs(const std::string &prefix, const char *include,
                              const std::function<void(const ObjectInfo &)> &each) {
  const std::string &folder = container_.config().address.folder;
  const std::string query =
      "restype=container&comp=list&prefix=" + percent_encoded(folder + prefix) + include;
  std::string marker;
  do {
    const auto page = container_.ask(
        tried("listing", prefix),
        container_.url(query + (marker.empty() ? "" : "&marker=" + percent_encoded(marker))),
        "EnumerationResults");
    for (const pugi::xml_node blob : page->root().child("Blobs").children("Blob")) {
      const pugi::xml_node properties = blob.child("Properties");
      // Accounts with a hierarchical namespace list directories, which are no blobs.
      if (properties.child("ResourceType").text().get() == std::string_view("directory")) continue;
      ObjectInfo found;
      found.key = name_in(*page, blob).substr(folder.size());
      found.size = page->number(properties, "Content-Length");
      found.version = properties.child("Etag").text().get();
      std::erase(found.version, '"');
      const std::string modified = properties.child("Last-Modified").text().get();
      found.modified_ms = http::parse_date(modified).value_or(0) * 1000;
      each(found);
    }
    marker = page->root().child("NextMarker").text().get();
  } while (!marker.empty());
}

void AzureObjects::list(const std::string &prefix,
                        const std::function<void(const ObjectInfo &)> &each) {
  list_blobs(prefix, "", each);
}

// A blob without committed content is listed as one that is empty.
std::vector<PendingUpload> AzureObjects::list_uploads(const std::string &prefix) {
  std::vector<std::string> empty;
  list_blobs(prefix, "&include=uncommittedblobs", [&](const ObjectInfo &found) {
    if (found.size == 0 && !found.key.ends_with('/')) empty.push_back(found.key);
  });
  std::vector<PendingUpload> pending;
  for (const std::string &key : empty) {
    std::vector<std::string> seen;
    for (const auto &[text, size] : pending_blocks(key)) {
      const auto id = BlockId::from(text);
      if (!id || std::ranges::find(seen, id->upload) != seen.end()) continue;
      seen.push_back(id->upload);
      pending.push_back({key, id->upload, upload_begun_ms(id->upload)});
    }
  }
  return pending;
}

}  // namespace

std::shared_ptr<ObjectStore> open_azure(const Json &config, std::shared_ptr<Logger> logger) {
  AzureConfig read = azure_config(config);
  http::HttpOptions options = http_options(read);
  AzureContainer container(std::move(read), std::move(options), RequestPolicy{}, logger);
  RequestScope soon(nullptr, 4);  // it is plain whether anybody is there
  container.within(soon).make();
  return std::make_shared<AzureObjects>(std::move(container));
}

}  // namespace det::cloud
