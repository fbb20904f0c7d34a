#include <arpa/inet.h>

#include <string>

#include "core/base/environment.h"
#include "core/base/file.h"
#include "core/cloud/s3/credential_service.h"
#include "core/cloud/s3/credential_sources.h"
#include "core/cloud/url_host.h"

namespace det::cloud {

namespace {

// Whether nobody on the way to that host can read along: this machine, and what stands beside it.
bool is_near(const std::string &host) {
  in_addr number{};
  const bool is_link_local = inet_pton(AF_INET, host.c_str(), &number) == 1 &&
                             ntohl(number.s_addr) >> 16U == 0xA9FE;  // 169.254.0.0/16
  return is_link_local || is_loopback(host) || host == "fd00:ec2::23";
}

std::string url_of_service() {
  if (const std::string path = environment_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
      !path.empty())
    return "http://169.254.170.2" + path;
  const std::string url = environment_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const bool is_sound =
      url.starts_with("https://") || (url.starts_with("http://") && is_near(host_of(url)));
  if (!url.empty() && (!is_sound || url.find('@') != url.npos))
    refuse_aws_credentials(
        "the container's endpoint",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https://, or name this "
        "machine: credentials would go over the network for everybody to read");
  return url;
}

std::string token() {
  std::string text = environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !path.empty())
    text = read_file(path);  // each time: it is renewed too
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

class FromContainer : public CredentialSource {
 public:
  explicit FromContainer(CredentialSettings settings) : settings_(std::move(settings)) {}

  std::optional<Lease> load() override {
    const std::string url = url_of_service();
    if (url.empty()) return std::nullopt;
    const std::string source = "the container's endpoint";
    http::HttpRequest request{.url = url, .headers = {{"Accept", "application/json"}}};
    if (std::string said = token(); !said.empty())
      request.headers.push_back({"Authorization", std::move(said)});
    const ServiceAccess service{source, settings_.tls, url.starts_with("http:"), 3,
                                std::chrono::seconds{2}};
    const http::HttpAnswer answer = ask_service(service, std::move(request), settings_.logger);
    if (answer.status != 200)
      refuse_aws_credentials(source, "it answered " + std::to_string(answer.status));
    return credentials_in(answer.body, metadata_names, source);
  }

 private:
  const CredentialSettings settings_;
};

}  // namespace

std::unique_ptr<CredentialSource> container_credentials(CredentialSettings settings) {
  return std::make_unique<FromContainer>(std::move(settings));
}

}  // namespace det::cloud
