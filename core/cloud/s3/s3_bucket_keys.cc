// Many keys at once: listed, and removed.
#include <algorithm>

#include "core/base/base64.h"
#include "core/base/crc32c.h"
#include "core/cloud/digest.h"
#include "core/cloud/s3/s3_answers.h"
#include "core/cloud/s3/s3_bucket.h"
#include "core/cloud/s3/s3_checksum.h"
#include "core/cloud/s3/s3_refusal.h"
#include "core/cloud/xml.h"

namespace det::cloud {

namespace {

constexpr size_t keys_at_once = 1000;

[[noreturn]] void refuse_list(const std::string &tried, const char *why) {
  throw Error(Code::corrupt, tried + ": the store " + why);
}

}  // namespace

void S3Bucket::list(const std::string &prefix,
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

std::vector<PendingUpload> S3Bucket::list_uploads(const std::string &prefix) {
  const std::string tried = "listing the uploads of '" + name_of(prefix) + "'";
  // MinIO takes every prefix for a whole key; without one it lists all that it knows of.
  const std::string asked = prefix.ends_with('/') && is_minio() ? "" : prefix;
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

void S3Bucket::remove(const std::vector<std::string> &keys) {
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

void S3Bucket::remove_page(const std::vector<std::string> &keys) {
  const std::string tried = "removing " + std::to_string(keys.size()) + " objects from 's3://" +
                            options_.bucket + "', '" + keys.front() + "' the first";
  Call call{.tried = tried, .request = s3_request("POST", "", {{"delete", ""}})};
  std::string &body = call.request.body;
  body = R"(<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>)";
  for (const std::string &key : keys)
    body += "<Object><Key>" + xml_escaped(key) + "</Key></Object>";
  body += "</Delete>";
  if (options_.checksum == S3Options::Checksum::md5)
    call.request.headers.push_back({"Content-MD5", to_base64(md5(body))});
  else call.request.headers.push_back({"x-amz-checksum-crc32c", crc32c_text(det::crc32c(body))});
  // Those that are gone already are gone the next time as well.
  call.check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
    if (!s3_error_code(answer).empty()) return dialect_->refusal_of(answer);
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

void S3Bucket::remove_one(const std::string &key) {
  Call call{.tried = "removing '" + name_of(key) + "'", .request = object_request("DELETE", key)};
  call.expected = {200, 204, 404};
  call.check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
    if (answer.status != 404 || s3_error_code(answer) == "NoSuchKey") return std::nullopt;
    return dialect_->refusal_of(answer);
  };
  requests_.perform(std::move(call));
}

}  // namespace det::cloud
