#include "core/http/tls.h"

#include <strings.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/http/option.h"

namespace det::http {

namespace {

bool readable(const char *path) { return path != nullptr && access(path, R_OK) == 0; }

// OpenSSL's own check, less the errors it leaves on the way (of a wrong signature, say): libcurl
// would take the first of them for a broken connection.
int verify(X509_STORE_CTX *chain, void *) {
  openssl().ERR_set_mark();
  const int verified = openssl().X509_verify_cert(chain);
  openssl().ERR_pop_to_mark();
  return verified;
}

}  // namespace

TlsOptions TlsOptions::from(const std::string &cert_file, const std::string &cert_name,
                            Logger &logger) {
  TlsOptions options;
  options.name = cert_name;
  if (cert_file.empty()) return options;
  if (strcasecmp(cert_file.c_str(), "noverify") == 0) {
    options.verify = false;
    logger.warning(
        "the master's certificate is not verified, as DET_MASTER_CERT_FILE=noverify asks: whoever "
        "is between can read and change everything; give the master's certificate instead");
    return options;
  }
  std::error_code ignored;
  if (!std::filesystem::exists(cert_file, ignored)) {
    logger.warning("the file in DET_MASTER_CERT_FILE, '" + cert_file +
                   "', does not exist: only masters that this machine trusts are accepted");
    return options;
  }
  options.certificates = read_file(cert_file);
  return options;
}

Tls::Tls(const TlsOptions &options) : verify_(options.verify), name_(options.name) {
  const curl_version_info_data *version = curl().version_info(CURLVERSION_NOW);
  default_bundle_ = readable(version->cainfo) || readable(version->capath);
  if (!verify_ || options.certificates.empty()) return;
  const Openssl &ssl = openssl();
  const std::unique_ptr<BIO, int (*)(BIO *)> text(
      ssl.BIO_new_mem_buf(options.certificates.data(),
                          static_cast<int>(options.certificates.size())),
      ssl.BIO_free);
  while (X509 *certificate = ssl.PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr))
    certificates_.emplace_back(certificate);
  ssl.ERR_clear_error();
  if (certificates_.empty())
    throw Error(Code::invalid,
                "reading the certificate of the master: no certificate in PEM form in it; check "
                "the file that DET_MASTER_CERT_FILE or --cert names");
}

void Tls::apply(CURL *handle) {
  set_option(handle, CURLOPT_SSL_VERIFYPEER, verify_ ? 1L : 0L);
  // libcurl compares with the URL's host only; another name is left to OpenSSL, below.
  set_option(handle, CURLOPT_SSL_VERIFYHOST, verify_ && name_.empty() ? 2L : 0L);
  if (!default_bundle_) {
    // A slim container has no bundle of its own; that must not stop those who bring theirs.
    set_option(handle, CURLOPT_CAINFO, static_cast<char *>(nullptr));
    set_option(handle, CURLOPT_CAPATH, static_cast<char *>(nullptr));
  }
  if (!verify_) return;
  set_option(handle, CURLOPT_SSL_CTX_FUNCTION, prepare_context);
  set_option(handle, CURLOPT_SSL_CTX_DATA, this);
}

// Called for each new connection, before its handshake.
CURLcode Tls::prepare_context(CURL *, void *context, void *self) {
  const Tls &tls = *static_cast<Tls *>(self);
  const Openssl &ssl = openssl();
  auto *ssl_context = static_cast<SSL_CTX *>(context);
  ssl.SSL_CTX_set_cert_verify_callback(ssl_context, verify, nullptr);
  X509_STORE *trusted = ssl.SSL_CTX_get_cert_store(ssl_context);
  for (const auto &certificate : tls.certificates_)
    if (ssl.X509_STORE_add_cert(trusted, certificate.get()) != 1) return CURLE_SSL_CERTPROBLEM;
  if (tls.name_.empty()) return CURLE_OK;
  X509_VERIFY_PARAM *checks = ssl.SSL_CTX_get0_param(ssl_context);
  ssl.X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (ssl.X509_VERIFY_PARAM_set1_ip_asc(checks, tls.name_.c_str()) == 1) return CURLE_OK;
  ssl.ERR_clear_error();
  return ssl.X509_VERIFY_PARAM_set1_host(checks, tls.name_.data(), tls.name_.size()) == 1
             ? CURLE_OK
             : CURLE_SSL_CERTPROBLEM;
}

}  // namespace det::http
