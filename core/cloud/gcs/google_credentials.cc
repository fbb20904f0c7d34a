#include "core/cloud/gcs/google_credentials.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <algorithm>
#include <chrono>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/base/text/base64.h"
#include "core/base/text/percent.h"
#include "core/cloud/gcs/google_answer.h"
#include "core/cloud/storage_fields.h"

namespace det::cloud {

namespace {

class TokenProtocol : public Protocol {
 public:
  void sign(http::HttpRequest &, RequestScope *) override {}
  void renew(const http::HttpResponse &) override {}

  Refusal refusal_of(const http::HttpResponse &answer) override {
    const GoogleError error = google_error(answer);
    Refusal refusal{Code::access, Refusal::Again::no, "status " + std::to_string(answer.status),
                    ""};
    for (const std::string &text : {error.reason, error.message})
      if (!text.empty()) refusal.reason += ", " + text;
    if (answer.status == 408 || answer.status == 429 || answer.status >= 500) {
      refusal.code = Code::unavailable;
      refusal.again = Refusal::Again::soon;
    } else if (error.reason == "invalid_grant") {
      refusal.remedy =
          "these credentials have ended, or this machine's clock is wrong: check the clock, then "
          "make new ones, such as with `gcloud auth application-default login`";
    } else if (answer.status >= 300 && answer.status < 400) {
      refusal.remedy = "redirects are not followed: check for a proxy between";
    }
    return refusal;
  }
};

}  // namespace

TokenService::TokenService(http::HttpOptions options, RequestPolicy policy,
                           std::shared_ptr<Logger> logger)
    : options_(std::move(options)), policy_(std::move(policy)), logger_(std::move(logger)) {
  options_.peer.name = "Google";
}

TokenService TokenService::impatient() const {
  RequestPolicy policy = policy_;
  policy.attempts = 3;
  policy.backoff_limit = policy.backoff;
  policy.connect_timeout = std::chrono::milliseconds{1000};
  policy.rate_floor = {1, std::chrono::seconds{2}};
  return {options_, std::move(policy), logger_};
}

TokenService TokenService::within(RequestScope *scope) const {
  TokenService some = *this;
  some.scope_ = scope;
  return some;
}

TokenService TokenService::direct() const {
  http::HttpOptions options = options_;
  options.proxy = {};
  return {std::move(options), policy_, logger_};
}

http::HttpResponse TokenService::ask(Call call) {
  const Requests requests(options_, policy_, std::make_shared<TokenProtocol>(), logger_);
  return requests.within(scope_).perform(std::move(call));
}

http::HttpResponse TokenService::get(const std::string &tried, const std::string &url,
                                     std::vector<http::HttpHeader> headers) {
  return ask({.tried = tried, .request = {.url = url, .headers = std::move(headers)}});
}

Json TokenService::post(const std::string &tried, const std::string &url, std::string body,
                        const char *content_type, std::vector<http::HttpHeader> headers) {
  headers.push_back({"Content-Type", content_type});
  Json told;
  ask({.tried = tried,
       .request =
           {.method = "POST", .url = url, .headers = std::move(headers), .body = std::move(body)},
       .check = [&](const http::HttpResponse &answer) -> std::optional<Refusal> {
         told = json_of(answer);  // what is damaged is asked for again
         return std::nullopt;
       }});
  return told;
}

Json TokenService::post_form(const std::string &tried, const std::string &url,
                             const FormFields &fields, std::vector<http::HttpHeader> headers) {
  return post(tried, url, form_of(fields), "application/x-www-form-urlencoded", std::move(headers));
}

Json TokenService::post_json(const std::string &tried, const std::string &url, const Json &body,
                             std::vector<http::HttpHeader> headers) {
  return post(tried, url, to_wire(body), "application/json", std::move(headers));
}

void refuse_credentials(const std::string &file, const std::string &why) {
  throw Error(Code::access, "reading the credentials in '" + file + "': " + why +
                                "; make them anew, such as with `gcloud auth application-default "
                                "login`");
}

std::string required_text(const Json &content, const char *member, const std::string &file) {
  std::string text = optional_text(content, member);
  if (text.empty()) refuse_credentials(file, std::string("they have no ") + member);
  return text;
}

AccessToken token_of(const Json &answer) {
  const std::chrono::seconds lifetime{
      static_cast<int64_t>(std::min<uint64_t>(number_member(answer, "expires_in"), 86'400))};
  return {text_member(answer, "access_token"), std::chrono::system_clock::now() + lifetime};
}

namespace {

class RefreshedUser : public GoogleCredentials {
 public:
  RefreshedUser(const Json &content, const std::string &file, const TokenContext &context)
      : file_(file),
        client_id_(required_text(content, "client_id", file)),
        client_secret_(required_text(content, "client_secret", file)),
        refresh_token_(required_text(content, "refresh_token", file)),
        of_pool_(optional_text(content, "type") == "external_account_authorized_user"),
        context_(context) {
    url_ =
        of_pool_ ? required_text(content, "token_url", file) : optional_text(content, "token_uri");
    if (url_.empty()) url_ = oauth_token_url;
  }

  std::string name() const override { return "the user of '" + file_ + "'"; }

  AccessToken fetch(RequestScope *scope) override {
    FormFields fields{{"grant_type", "refresh_token"}, {"refresh_token", refresh_token_}};
    std::vector<http::HttpHeader> headers;
    if (of_pool_) {
      headers.push_back({"Authorization", "Basic " + to_base64(client_id_ + ":" + client_secret_)});
    } else {
      fields.push_back({"client_id", client_id_});
      fields.push_back({"client_secret", client_secret_});
    }
    const Json answer = context_.service->within(scope).post_form(
        "asking '" + url_ + "' for a token of " + name(), url_, fields, std::move(headers));
    // Those of a pool may be good for one use.
    if (std::string next = optional_text(answer, "refresh_token"); !next.empty())
      refresh_token_ = std::move(next);
    return token_of(answer);
  }

 private:
  const std::string file_, client_id_, client_secret_;
  std::string refresh_token_, url_;
  const bool of_pool_;
  const TokenContext context_;
};

// A user's own, of `gcloud auth application-default login` (authorized_user), and of a pool of
// workforce identities (external_account_authorized_user).
std::unique_ptr<GoogleCredentials> refreshed_user(const Json &content, const std::string &file,
                                                  const TokenContext &context) {
  return std::make_unique<RefreshedUser>(content, file, context);
}

}  // namespace

namespace {

using std::chrono::system_clock;

constexpr int64_t lifetime_s = 3600;  // the longest that is allowed

class PrivateKey {
 public:
  PrivateKey(const std::string &pem, const std::string &file) {
    const std::unique_ptr<BIO, int (*)(BIO *)> text(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
    if (text) key_.reset(PEM_read_bio_PrivateKey(text.get(), nullptr, no_password, nullptr));
    ERR_clear_error();
    if (!key_ || EVP_PKEY_base_id(key_.get()) != EVP_PKEY_RSA)
      refuse_credentials(file, "its private_key is no RSA key in PEM form");
  }

  // RS256.
  std::string sign(const std::string &text) const {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX *)> context(EVP_MD_CTX_new(),
                                                                      EVP_MD_CTX_free);
    const auto *bytes = reinterpret_cast<const unsigned char *>(text.data());
    size_t size = 0;
    std::string signature;
    bool signed_well =
        context &&
        EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
        EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1;
    if (signed_well) {
      signature.resize(size);
      auto *out = reinterpret_cast<unsigned char *>(signature.data());
      signed_well = EVP_DigestSign(context.get(), out, &size, bytes, text.size()) == 1;
      signature.resize(size);
    }
    ERR_clear_error();
    if (!signed_well)
      throw Error(Code::internal, "signing a request for a token: OpenSSL does not sign");
    return signature;
  }

 private:
  struct Free {
    void operator()(EVP_PKEY *key) const { EVP_PKEY_free(key); }
  };
  static int no_password(char *, int, int, void *) { return 0; }

  std::unique_ptr<EVP_PKEY, Free> key_;
};

std::string base64_of_url(std::string_view bytes) {
  std::string text = to_base64(bytes);
  text.erase(text.find_last_not_of('=') + 1);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

class ServiceAccount : public GoogleCredentials {
 public:
  ServiceAccount(const Json &content, const std::string &file, const TokenContext &context)
      : email_(required_text(content, "client_email", file)),
        key_id_(optional_text(content, "private_key_id")),
        key_(required_text(content, "private_key", file), file),
        context_(context) {
    token_uri_ = optional_text(content, "token_uri");
    if (token_uri_.empty()) token_uri_ = oauth_token_url;
  }

  std::string name() const override { return "the service account '" + email_ + "'"; }

  AccessToken fetch(RequestScope *scope) override {
    // Universes other than Google's own have no token endpoint: there it signs its tokens itself.
    if (context_.universe != "googleapis.com")
      return {assertion({{"scope", context_.scope}, {"sub", email_}}),
              system_clock::now() + std::chrono::seconds{lifetime_s}};
    const std::string tried = "asking '" + token_uri_ + "' for a token of " + name();
    return token_of(context_.service->within(scope).post_form(
        tried, token_uri_,
        {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
         {"assertion", assertion({{"scope", context_.scope}, {"aud", token_uri_}})}}));
  }

 private:
  std::string assertion(Json claims) const {
    Json header{{"alg", "RS256"}, {"typ", "JWT"}};
    if (!key_id_.empty()) header["kid"] = key_id_;
    const int64_t now = system_clock::to_time_t(system_clock::now());
    claims["iss"] = email_;
    claims["iat"] = now;
    claims["exp"] = now + lifetime_s;
    const std::string text = base64_of_url(to_wire(header)) + "." + base64_of_url(to_wire(claims));
    return text + "." + base64_of_url(key_.sign(text));
  }

  const std::string email_, key_id_;
  const PrivateKey key_;
  const TokenContext context_;
  std::string token_uri_;
};

// Throws Code::access where the file lacks something or its key is none.
std::unique_ptr<GoogleCredentials> service_account(const Json &content, const std::string &file,
                                                   const TokenContext &context) {
  return std::make_unique<ServiceAccount>(content, file, context);
}

}  // namespace

namespace {

// By its address: looking up a name takes long where there is no such server.
constexpr const char *usual_host = "169.254.169.254";

std::vector<http::HttpHeader> flavor() { return {{"Metadata-Flavor", "Google"}}; }

class MetadataServer : public GoogleCredentials {
 public:
  MetadataServer(std::string url, TokenService service, std::string scope)
      : url_(std::move(url)), service_(std::move(service)), scope_(std::move(scope)) {}

  std::string name() const override { return "the service account of this machine"; }

  AccessToken fetch(RequestScope *scope) override {
    const http::HttpResponse answer = service_.within(scope).get(
        "asking the metadata server for a token of " + name(),
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

// Null where nothing answers as such a server does. GCE_METADATA_HOST says where it is; with
// NO_GCE_CHECK=true it is not asked. Blocks for a few seconds at most.
std::unique_ptr<GoogleCredentials> metadata_server(const TokenContext &context) {
  if (environment_variable("NO_GCE_CHECK") == "true") return nullptr;
  std::string host = environment_variable("GCE_METADATA_HOST");
  if (host.empty()) host = usual_host;
  const std::string url = "http://" + host;
  TokenService service = context.service->direct();
  try {
    const http::HttpResponse answer = service.impatient().get(
        "looking for a metadata server", url + "/computeMetadata/v1/", flavor());
    if (answer.header("metadata-flavor") != "Google") return nullptr;
  } catch (const Error &error) {
    if (error.code == Code::state) throw;
    context.service->logger()->debug(error.what());
    return nullptr;
  }
  return std::make_unique<MetadataServer>(url, std::move(service), context.scope);
}

}  // namespace

namespace {

std::unique_ptr<GoogleCredentials> credentials_of(const std::string &file,
                                                  const TokenContext &context) {
  Json content;
  try {
    content = parse_json_object(read_file(file), "it");
  } catch (const Error &error) {
    // What does not parse may be quoted in the reason, and is a secret.
    if (error.code != Code::invalid) throw Error(Code::access, error.what(), error.os_errno);
    refuse_credentials(file, "they are no JSON object");
  }
  return google_credentials(content, file, context);
}

std::filesystem::path gcloud_file() {
  const std::string folder = environment_variable("CLOUDSDK_CONFIG");
  return (folder.empty() ? home_directory() / ".config/gcloud" : std::filesystem::path(folder)) /
         "application_default_credentials.json";
}

}  // namespace

std::unique_ptr<GoogleCredentials> google_credentials(const Json &file_content,
                                                      const std::string &file,
                                                      const TokenContext &context) {
  const std::string type = optional_text(file_content, "type");
  const auto make = type == "service_account"                    ? service_account
                    : type == "authorized_user"                  ? refreshed_user
                    : type == "external_account_authorized_user" ? refreshed_user
                    : type == "external_account"                 ? external_account
                    : type == "impersonated_service_account"     ? impersonated_account
                                                                 : nullptr;
  if (make == nullptr) refuse_credentials(file, "type '" + type + "' is not known here");
  auto credentials = make(file_content, file, context);
  if (std::string project = optional_text(file_content, "quota_project_id"); !project.empty())
    credentials->quota_project = std::move(project);
  return credentials;
}

std::unique_ptr<GoogleCredentials> application_default_credentials(const TokenContext &context) {
  std::unique_ptr<GoogleCredentials> credentials;
  std::error_code ignored;
  if (const std::string file = environment_variable("GOOGLE_APPLICATION_CREDENTIALS");
      !file.empty())
    credentials = credentials_of(file, context);
  else if (std::filesystem::exists(gcloud_file(), ignored))
    credentials = credentials_of(gcloud_file(), context);
  else credentials = metadata_server(context);
  if (!credentials)
    throw Error(Code::access,
                "looking for credentials for Google Cloud Storage: none found; set "
                "GOOGLE_APPLICATION_CREDENTIALS to the file of a service account or of a workload "
                "identity, or run `gcloud auth application-default login`, or give this machine a "
                "service account; a public bucket needs none: set anonymous to true");
  if (std::string project = environment_variable("GOOGLE_CLOUD_QUOTA_PROJECT"); !project.empty())
    credentials->quota_project = std::move(project);
  return credentials;
}

}  // namespace det::cloud
