#include "core/cloud/s3/s3_answers.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text/percent.h"
#include "core/cloud/xml.h"

namespace det::cloud {

namespace {

std::string maybe(pugi::xml_node element, const char *child) {
  return element.child(child).text().get();
}

// Keys as they were asked for, since XML cannot say all of them: a form's encoding.
std::string key_in(const XmlDocument &answer, pugi::xml_node element, const char *child) {
  std::string key = answer.text(element, child);
  if (maybe(answer.root(), "EncodingType") != "url") return key;
  std::replace(key.begin(), key.end(), '+', ' ');
  return percent_decoded(key);
}

int64_t time_in(pugi::xml_node element, const char *child) {
  return parse_iso8601(maybe(element, child)).value_or(0) / 1000;
}

bool has_more(const XmlDocument &answer) { return maybe(answer.root(), "IsTruncated") == "true"; }

[[noreturn]] void refuse_page(const std::string &what) {
  throw Error(Code::corrupt, what + " is damaged: more follows, but it does not say where");
}

}  // namespace

ObjectPage read_object_page(const std::string &text, const std::string &what) {
  const XmlDocument answer(text, "ListBucketResult", what);
  ObjectPage page;
  for (const pugi::xml_node found : answer.root().children("Contents"))
    page.objects.push_back({key_in(answer, found, "Key"), answer.number(found, "Size"),
                            unquoted(maybe(found, "ETag")), time_in(found, "LastModified")});
  if (has_more(answer)) page.next = maybe(answer.root(), "NextContinuationToken");
  if (has_more(answer) && page.next.empty()) refuse_page(what);
  return page;
}

PartPage read_part_page(const std::string &text, const std::string &what) {
  const XmlDocument answer(text, "ListPartsResult", what);
  PartPage page;
  for (const pugi::xml_node found : answer.root().children("Part"))
    page.parts.push_back({static_cast<int>(answer.number(found, "PartNumber")),
                          answer.number(found, "Size"), unquoted(answer.text(found, "ETag")),
                          maybe(found, "ChecksumCRC32C")});
  if (has_more(answer)) page.next = maybe(answer.root(), "NextPartNumberMarker");
  if (has_more(answer) && page.next.empty()) refuse_page(what);
  return page;
}

UploadPage read_upload_page(const std::string &text, const std::string &what) {
  const XmlDocument answer(text, "ListMultipartUploadsResult", what);
  UploadPage page;
  for (const pugi::xml_node found : answer.root().children("Upload"))
    page.uploads.push_back({key_in(answer, found, "Key"), answer.text(found, "UploadId"),
                            time_in(found, "Initiated")});
  if (!has_more(answer)) return page;
  page.next_key = key_in(answer, answer.root(), "NextKeyMarker");
  page.next_upload = maybe(answer.root(), "NextUploadIdMarker");
  if (page.next_key.empty()) refuse_page(what);
  return page;
}

std::vector<KeyRefusal> read_removals(const std::string &text, const std::string &what) {
  const XmlDocument answer(text, "DeleteResult", what);
  std::vector<KeyRefusal> refusals;
  for (const pugi::xml_node found : answer.root().children("Error"))
    refusals.push_back({maybe(found, "Key"), maybe(found, "Code"), maybe(found, "Message")});
  return refusals;
}

std::string unquoted(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace det::cloud
