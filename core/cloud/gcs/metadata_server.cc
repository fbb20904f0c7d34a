#include "core/cloud/gcs/metadata_server.h"

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/percent.h"
#include "core/cloud/gcs/google_answer.h"
#include "core/cloud/gcs/oauth_token.h"

namespace det::cloud {

namespace {

// By its address: looking up a name takes long where there is no such server.
constexpr const char *usual_host = "169.254.169.254";

std::vector<http::HttpHeader> flavor() { return {{"Metadata-Flavor", "Google"}}; }

class MetadataServer : public GoogleCredentials {
 public:
  MetadataServer(std::string url, TokenService service, std::string scope)
      : url_(std::move(url)), service_(std::move(service)), scope_(std::move(scope)) {}

  std::string name() const override { return "the service account of this machine"; }

  AccessToken fetch() override {
    const http::HttpAnswer answer =
        service_.get("asking the metadata server for a token of " + name(),
                     url_ + "/computeMetadata/v1/instance/service-accounts/default/token?scopes=" +
                         percent_encoded(scope_),
                     flavor());
    return token_of(json_of(answer));
  }

 private:
  const std::string url_;
  TokenService service_;
  const std::string scope_;
};

}  // namespace

std::unique_ptr<GoogleCredentials> metadata_server(const TokenContext &context) {
  if (environment_variable("NO_GCE_CHECK") == "true") return nullptr;
  std::string host = environment_variable("GCE_METADATA_HOST");
  if (host.empty()) host = usual_host;
  const std::string url = "http://" + host;
  TokenService service = context.service->direct();
  try {
    const http::HttpAnswer answer = service.impatient().get("looking for a metadata server",
                                                            url + "/computeMetadata/v1/", flavor());
    if (answer.header("metadata-flavor") != "Google") return nullptr;
  } catch (const Error &error) {
    if (error.code == Code::state) throw;
    context.service->logger()->debug(error.what());
    return nullptr;
  }
  return std::make_unique<MetadataServer>(url, std::move(service), context.scope);
}

}  // namespace det::cloud
