// Objects in parts.
#include <numeric>

#include "core/cloud/s3/s3_answers.h"
#include "core/cloud/s3/s3_bucket.h"
#include "core/cloud/s3/s3_checksum.h"
#include "core/cloud/s3/s3_refusal.h"
#include "core/cloud/xml.h"

namespace det::cloud {

namespace {

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

}  // namespace

std::string S3Bucket::begin_parts(const std::string &key) {
  http::HttpRequest request = object_request("POST", key, {{"uploads", ""}});
  add_kind(request);
  if (options_.checksum == S3Options::Checksum::crc32c)
    request.headers.push_back({"x-amz-checksum-algorithm", "CRC32C"});
  std::string upload;
  ask("beginning to store '" + name_of(key) + "' in parts", std::move(request),
      [&](const std::string &body) {
        const XmlAnswer answer(body, "InitiateMultipartUploadResult", "the answer");
        upload = answer.text(answer.root(), "UploadId");
      });
  return upload;
}

StoredPart S3Bucket::put_part(const std::string &key, const std::string &upload, int number,
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

std::vector<StoredPart> S3Bucket::list_parts(const std::string &key, const std::string &upload) {
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
void S3Bucket::complete_parts(const std::string &key, const std::string &upload,
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
          const XmlAnswer answer(body, "CompleteMultipartUploadResult", "the answer");
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

void S3Bucket::abort_parts(const std::string &key, const std::string &upload) {
  Call call{.tried = "dropping the parts of '" + name_of(key) + "'",
            .request = object_request("DELETE", key, {{"uploadId", upload}})};
  call.expected = {200, 204, 404};
  requests_.perform(std::move(call));
}

std::string S3Bucket::checksum_of(ByteRange &bytes) {
  return options_.checksum == S3Options::Checksum::crc32c ? crc32c_text(crc32c(bytes)) : "";
}

}  // namespace det::cloud
