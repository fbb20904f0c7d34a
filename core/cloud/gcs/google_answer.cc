#include "core/cloud/gcs/google_answer.h"

#include <charconv>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text/printable.h"
#include "core/base/text/utf8.h"

namespace det::cloud {

namespace {

constexpr size_t longest_line = 300;

std::string as_line(std::string_view text) {
  std::string line = printable(text.substr(0, 4 * longest_line));
  if (line.size() <= longest_line) return line;
  size_t end = longest_line;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80) --end;
  return line.substr(0, end) + "...";
}

std::string line_in(const Json &object, const char *member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string()
             ? as_line(found->get_ref<const std::string &>())
             : "";
}

// {"error": {"message", "errors": [{"reason"}], "status"}}, as its services answer.
GoogleError service_error(const Json &error) {
  GoogleError told{line_in(error, "status"), line_in(error, "message")};
  const auto errors = error.find("errors");
  if (errors != error.end() && errors->is_array() && !errors->empty() &&
      errors->front().is_object())
    told.reason = line_in(errors->front(), "reason");
  return told;
}

[[noreturn]] void damaged(const char *member) {
  throw Error(Code::corrupt, std::string("the answer is damaged: it has no ") + member);
}

}  // namespace

GoogleError google_error(const http::HttpResponse &answer) {
  Json body;
  try {
    body = json_of(answer);
  } catch (const Error &) {
    const bool is_text = answer.content_type.starts_with("text/plain");
    return {"", is_text ? as_line(answer.body.substr(0, answer.body.find('\n'))) : ""};
  }
  const auto error = body.find("error");
  if (error == body.end()) return {};
  if (error->is_object()) return service_error(*error);
  return {line_in(body, "error"), line_in(body, "error_description")};  // as RFC 6749 has it
}

Json json_of(const http::HttpResponse &answer) {
  try {
    return parse_json_object(answer.body, "answer");
  } catch (const Error &) {
    throw Error(Code::corrupt, "the answer is damaged: it is no JSON object");
  }
}

std::string text_member(const Json &object, const char *member) {
  const auto found = object.find(member);
  if (found == object.end() || !found->is_string()) damaged(member);
  return found->get<std::string>();
}

uint64_t number_member(const Json &object, const char *member) {
  const auto found = object.find(member);
  if (found != object.end() && found->is_number_unsigned()) return found->get<uint64_t>();
  const std::string text = text_member(object, member);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) damaged(member);
  return number;
}

}  // namespace det::cloud
