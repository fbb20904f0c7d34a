// Many objects are removed in one request: a body of requests, which is answered by one of answers.
#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/base/percent.h"
#include "core/base/uuid.h"
#include "core/cloud/gcs/gcs_dialect.h"
#include "core/cloud/gcs/gcs_objects.h"

namespace det::cloud {

namespace {

constexpr size_t most_together = 100;  // that the service takes

bool is_gone(int status) { return status == 404 || (status >= 200 && status < 300); }

int number_after(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == text.npos) return -1;
  text.remove_prefix(at + mark.size());
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// By the number of the request. What is not understood counts as no answer.
std::vector<int> statuses_in(const http::HttpAnswer &answer, size_t count) {
  std::vector<int> statuses(count, 0);
  const size_t at = answer.content_type.find("boundary=");
  if (at == std::string::npos) return statuses;
  std::string boundary = answer.content_type.substr(at + 9);
  boundary = boundary.starts_with('"') ? boundary.substr(1, boundary.find('"', 1) - 1)
                                       : boundary.substr(0, boundary.find(';'));
  const std::string_view body = answer.body;
  const std::string mark = "--" + boundary;
  for (size_t begin = body.find(mark); begin != body.npos;) {
    begin += mark.size();
    const size_t end = body.find(mark, begin);
    const std::string_view part = body.substr(begin, end - begin);
    const int number = number_after(part, "response-item-");
    const size_t status_line = part.find("HTTP/1.1 ");
    if (number >= 0 && static_cast<size_t>(number) < count && status_line != part.npos)
      statuses[static_cast<size_t>(number)] = number_after(part.substr(status_line), "HTTP/1.1 ");
    begin = end;
  }
  return statuses;
}

}  // namespace

// Those that are not gone.
std::vector<std::string> GcsObjects::remove_together(const std::vector<std::string> &keys) {
  const std::string boundary = make_uuid();
  std::string body;
  for (size_t i = 0; i < keys.size(); ++i)
    body += "--" + boundary + "\r\nContent-Type: application/http\r\nContent-ID: <item-" +
            std::to_string(i) + ">\r\n\r\nDELETE /storage/v1" + object_path(keys[i]) +
            " HTTP/1.1\r\n\r\n\r\n";
  body += "--" + boundary + "--\r\n";
  const http::HttpAnswer answer = requests_.perform(
      {.tried = "removing '" + name_of(keys.front()) + "' and others",
       .request = {.method = "POST",
                   .url = url("/batch/storage/v1", {}),
                   .headers = {{"Content-Type", "multipart/mixed; boundary=" + boundary}},
                   .body = std::move(body)}});
  const std::vector<int> statuses = statuses_in(answer, keys.size());
  std::vector<std::string> left;
  for (size_t i = 0; i < keys.size(); ++i)
    if (!is_gone(statuses[i])) left.push_back(keys[i]);
  return left;
}

void GcsObjects::remove_one(const std::string &key) {
  requests_.perform(
      {.tried = "removing '" + name_of(key) + "'",
       .request = {.method = "DELETE", .url = url("/storage/v1" + object_path(key), {})},
       .expected = {200, 204, 404},
       .check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
         if (answer.status == 404) return missing_bucket(answer, config_.bucket);
         return std::nullopt;
       }});
}

// Alone, each is tried again as long as that may help, and says why where it does not.
void GcsObjects::remove(const std::vector<std::string> &keys) {
  for (size_t begin = 0; begin < keys.size(); begin += most_together) {
    std::vector<std::string> some(
        keys.begin() + static_cast<std::ptrdiff_t>(begin),
        keys.begin() + static_cast<std::ptrdiff_t>(std::min(keys.size(), begin + most_together)));
    if (some.size() > 1) some = remove_together(some);
    for (const std::string &key : some) remove_one(key);
  }
}

}  // namespace det::cloud
