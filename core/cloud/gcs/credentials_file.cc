#include "core/cloud/gcs/credentials_file.h"

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::cloud {

void refuse_credentials(const std::string &file, const std::string &why) {
  throw Error(Code::access, "reading the credentials in '" + file + "': " + why +
                                "; make them anew, such as with `gcloud auth application-default "
                                "login`");
}

std::string optional_text(const Json &content, const char *member) {
  const auto found = content.find(member);
  return found != content.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string required_text(const Json &content, const char *member, const std::string &file) {
  std::string text = optional_text(content, member);
  if (text.empty()) refuse_credentials(file, std::string("they have no ") + member);
  return text;
}

}  // namespace det::cloud
