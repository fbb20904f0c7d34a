#include "core/cloud/gcs/subject_token.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/cloud/gcs/credentials_file.h"
#include "core/cloud/gcs/subject_program.h"

namespace det::cloud {

namespace {

// As text, or in a member of a JSON object.
class TokenFormat {
 public:
  TokenFormat(const Json &source, const std::string &file) {
    const auto format = source.find("format");
    if (format == source.end() || !format->is_object()) return;
    const std::string type = optional_text(*format, "type");
    if (type == "json") member_ = required_text(*format, "subject_token_field_name", file);
    else if (!type.empty() && type != "text")
      refuse_credentials(file, "the format of their credential_source is neither text nor json");
  }

  // Throws Code::access, naming nothing of the text.
  std::string token_in(const std::string &text, const std::string &where) const {
    std::string token = member_.empty() ? text : member_of(text, where);
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
    if (token.empty()) throw Error(Code::access, "reading a token from " + where + ": it is empty");
    return token;
  }

 private:
  std::string member_of(const std::string &text, const std::string &where) const {
    try {
      return optional_text(parse_json_object(text, where), member_.c_str());
    } catch (const Error &) {
      throw Error(Code::access, "reading a token from " + where + ": it is no JSON object");
    }
  }

  std::string member_;
};

std::vector<http::HttpHeader> headers_in(const Json &source) {
  std::vector<http::HttpHeader> headers;
  const auto found = source.find("headers");
  if (found == source.end() || !found->is_object()) return headers;
  for (const auto &[name, value] : found->items())
    if (value.is_string()) headers.push_back({name, value.get<std::string>()});
  return headers;
}

}  // namespace

SubjectTokenSource subject_token_source(const Json &account, const std::string &file,
                                        TokenService &service) {
  const auto found = account.find("credential_source");
  if (found == account.end() || !found->is_object())
    refuse_credentials(file, "they have no credential_source");
  const Json &source = *found;
  const TokenFormat format(source, file);
  if (const std::string path = optional_text(source, "file"); !path.empty())
    return [format, path] {
      try {
        return format.token_in(read_file(path), "'" + path + "'");
      } catch (const Error &error) {
        throw Error(Code::access, error.what(), error.os_errno);
      }
    };
  if (const std::string url = optional_text(source, "url"); !url.empty())
    return [format, url, headers = headers_in(source), &service] {
      const std::string where = "'" + url.substr(0, url.find('?')) + "'";
      const http::HttpAnswer answer =
          service.get("asking " + where + " for a token of this job", url, headers);
      return format.token_in(answer.body, where);
    };
  if (const auto program = source.find("executable");
      program != source.end() && program->is_object())
    return subject_program(account, *program, file);
  refuse_credentials(file,
                     "their credential_source names neither a file, nor a URL, nor an executable, "
                     "which are those that are known here");
}

}  // namespace det::cloud
