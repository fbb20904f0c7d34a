// Any bytes in place of what a store answers: understood, or refused with a reason.
#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/cloud/azure/azure_config.h"
#include "core/cloud/azure/azure_protocol.h"
#include "core/cloud/batch.h"
#include "core/cloud/gcs/google_answer.h"
#include "core/cloud/s3/s3_answers.h"
#include "core/cloud/s3/s3_protocol.h"
#include "core/cloud/xml.h"

namespace {

using det::Code;

template <class Read>
void read(Read read, Code expected = Code::corrupt) {
  try {
    read();
  } catch (const det::Error &e) {
    if (e.code != expected) std::abort();
  }
}

// One line that a terminal may show, not as long as a store likes.
void check(const det::cloud::Refusal &refusal) {
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7F; };
  if (refusal.reason.size() > 4096 || std::ranges::any_of(refusal.reason, is_control)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace det::cloud;
  const std::string text(reinterpret_cast<const char *>(data), size);
  read([&] { read_object_page(text, "a list"); });
  read([&] { read_part_page(text, "a list"); });
  read([&] { read_upload_page(text, "a list"); });
  read([&] { read_removals(text, "a list"); });
  read([&] { parse_connection_string(text); }, Code::invalid);

  // What can be written in XML is read back as it was.
  if (fits_xml(text) && text.find('\r') == text.npos) {
    const std::string written = "<Error><Code>" + xml_escaped(text) + "</Code></Error>";
    if (text.find_first_not_of(" \t\n") != text.npos &&
        xml_text_at(written, "Error", "Code") != text)
      std::abort();
  }

  det::http::HttpResponse answer;
  answer.status = 403;
  answer.body = text;
  answer.content_type = "multipart/mixed; boundary=b";
  check(s3_refusal(answer));
  check(azure_refusal(answer));
  const GoogleError google = google_error(answer);
  check({Code::access, Refusal::Again::no, google.reason + google.message, ""});
  read([&] { json_of(answer); });
  answer.status = 202;
  read([&] { batch_answers(answer, 2); });
  return 0;
}
