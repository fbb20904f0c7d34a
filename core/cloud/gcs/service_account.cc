#include "core/cloud/gcs/service_account.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <chrono>

#include "core/base/base64.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/cloud/gcs/credentials_file.h"
#include "core/cloud/gcs/oauth_token.h"

namespace det::cloud {

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

  AccessToken fetch() override {
    // Universes other than Google's own have no token endpoint: there it signs its tokens itself.
    if (context_.universe != "googleapis.com")
      return {assertion({{"scope", context_.scope}, {"sub", email_}}),
              system_clock::now() + std::chrono::seconds{lifetime_s}};
    const std::string tried = "asking '" + token_uri_ + "' for a token of " + name();
    return token_of(context_.service->post_form(
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

}  // namespace

std::unique_ptr<GoogleCredentials> service_account(const Json &content, const std::string &file,
                                                   const TokenContext &context) {
  return std::make_unique<ServiceAccount>(content, file, context);
}

}  // namespace det::cloud
