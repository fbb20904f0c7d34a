#include "core/cloud/batch.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/base/error.h"
#include "core/base/text/lower_case.h"

namespace det::cloud {

namespace {

[[noreturn]] void refuse_batch(const char *why) {
  throw Error(Code::corrupt, std::string("the answer to a batch is damaged: ") + why);
}

// Cuts a line off `rest`, whose end may be "\n" alone.
std::string_view next_line(std::string_view &rest) {
  std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<http::HttpHeader> next_headers(std::string_view &rest) {
  std::vector<http::HttpHeader> headers;
  for (std::string_view line = next_line(rest); !line.empty(); line = next_line(rest)) {
    const size_t colon = std::min(line.find(':'), line.size());
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    headers.push_back({lower_case(line.substr(0, colon)), std::string(value)});
  }
  return headers;
}

template <class Number>
Number number_in(std::string_view text) {
  Number number{};
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    refuse_batch("a number is missing");
  return number;
}

// "multipart/mixed; boundary=batchresponse_1"
std::string boundary_of(const std::string &content_type) {
  constexpr std::string_view name = "boundary=";
  const size_t begin = content_type.find(name);
  if (begin == content_type.npos) refuse_batch("it is not in parts");
  std::string boundary = content_type.substr(begin + name.size());
  boundary.resize(std::min(boundary.find(';'), boundary.size()));
  std::erase(boundary, '"');
  return "--" + boundary;
}

}  // namespace

std::string batch_body(const std::string &boundary, const std::vector<http::HttpRequest> &requests,
                       const char *before, const char *after) {
  std::string body;
  for (size_t i = 0; i < requests.size(); ++i) {
    const http::HttpRequest &request = requests[i];
    const size_t path = request.url.find('/', request.url.find("://") + 3);
    body += "--" + boundary +
            "\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
            "Content-ID: " +
            before + std::to_string(i) + after + "\r\n\r\n" + request.method + " " +
            request.url.substr(path) + " HTTP/1.1\r\n";
    for (const http::HttpHeader &header : request.headers)
      body += header.name + ": " + header.value + "\r\n";
    body += "Content-Length: 0\r\n\r\n";
  }
  return body + "--" + boundary + "--\r\n";
}

std::vector<http::HttpResponse> batch_answers(const http::HttpResponse &answer, size_t count) {
  const std::string boundary = boundary_of(answer.content_type);
  std::vector<http::HttpResponse> answers(count);
  std::string_view rest = answer.body;
  for (;;) {
    const size_t begin = rest.find(boundary);
    if (begin == rest.npos) refuse_batch("its end is missing");
    rest.remove_prefix(begin + boundary.size());
    if (rest.starts_with("--")) break;
    next_line(rest);
    http::HttpResponse part;
    size_t id = count;  // without one it stands for all
    for (const http::HttpHeader &header : next_headers(rest))
      if (header.name == "content-id")
        id = number_in<size_t>(std::string_view(header.value).substr(header.value.rfind('-') + 1));
    std::string_view status = next_line(rest);  // "HTTP/1.1 202 Accepted"
    status.remove_prefix(std::min(status.find(' '), status.size()));
    part.status = number_in<int>(status.substr(std::min<size_t>(1, status.size())));
    part.headers = next_headers(rest);
    part.body = rest.substr(0, rest.find(boundary));
    if (id < count) answers[id] = std::move(part);
    else
      for (http::HttpResponse &one : answers) one = part;
  }
  if (std::ranges::any_of(answers, [](const auto &one) { return one.status == 0; }))
    refuse_batch("a part is missing");
  return answers;
}

}  // namespace det::cloud
