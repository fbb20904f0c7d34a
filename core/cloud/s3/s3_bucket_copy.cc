// Copies within a bucket, without the bytes coming here.
#include <algorithm>

#include "core/base/percent.h"
#include "core/cloud/s3/s3_answers.h"
#include "core/cloud/s3/s3_bucket.h"
#include "core/cloud/xml.h"

namespace det::cloud {

namespace {

constexpr uint64_t part_size = uint64_t{1} << 30U;  // 5 TiB are 5,120 parts

}  // namespace

void S3Bucket::add_source(http::HttpRequest &request, const ObjectInfo &from) const {
  request.headers.push_back(
      {"x-amz-copy-source", "/" + options_.bucket + "/" + percent_encoded(from.key, "/")});
  request.headers.push_back({"x-amz-copy-source-if-match", "\"" + from.version + "\""});
}

bool S3Bucket::copy(const std::string &from, const std::string &to) {
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
        [](const std::string &body) { XmlAnswer(body, "CopyObjectResult", "the answer"); }, true);
    return true;
  } catch (const Error &e) {
    if (e.code != Code::unsupported) throw;
    return false;
  }
}

void S3Bucket::copy_in_parts(const ObjectInfo &from, const std::string &to) {
  const std::string upload = begin_parts(to);
  try {
    std::vector<StoredPart> parts;
    for (uint64_t offset = 0; offset < from.size; offset += part_size)
      parts.push_back(copy_part(from, to, upload, static_cast<int>(parts.size()) + 1, offset,
                                std::min(part_size, from.size - offset)));
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

StoredPart S3Bucket::copy_part(const ObjectInfo &from, const std::string &to,
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
        const XmlAnswer answer(body, "CopyPartResult", "the answer");
        part.version = unquoted(answer.text(answer.root(), "ETag"));
        part.checksum = answer.root().child("ChecksumCRC32C").text().get();
      },
      true);
  return part;
}

}  // namespace det::cloud
