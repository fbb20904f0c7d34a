// Whom to trust behind https.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/log/log.h"
#include "core/http/http_library.h"

namespace det::http {

struct TlsOptions {
  bool verify = true;
  std::string certificates;  // PEM, trusted besides those that this machine trusts
  std::string name;          // must be the certificate's instead of the URL's host; empty: that one

  // DET_MASTER_CERT_FILE (a path, or "noverify") and DET_MASTER_CERT_NAME as a cluster sets them.
  // A file that is missing is a warning only. Throws when it cannot be read.
  static TlsOptions from(const std::string &cert_file, const std::string &cert_name,
                         Logger &logger);
};

// The options in the form that transfers take. Must outlive them.
class Tls {
 public:
  // Throws Code::invalid when the certificates are none.
  explicit Tls(const TlsOptions &options);

  void apply(CURL *handle);

 private:
  struct Free {
    void operator()(X509 *certificate) const { openssl().X509_free(certificate); }
  };

  static CURLcode prepare_context(CURL *handle, void *context, void *self);

  bool verify_;
  bool default_bundle_;
  std::string name_;
  std::vector<std::unique_ptr<X509, Free>> certificates_;
};

}  // namespace det::http
