// A private certificate authority, as a cluster has one.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "core/base/file.h"

namespace det::http {

// PEM texts.
struct Identity {
  std::string certificate, key;
};

class Authority {
 public:
  Authority() : key_(make_key()), certificate_(make(key_.get(), "Test CA", 3600)) {
    extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    sign(certificate_.get());
  }

  std::string certificate() const { return pem(certificate_.get()); }

  // `names` as OpenSSL writes them: "DNS:master.example,IP:127.0.0.1".
  Identity issue(const std::string &names, long valid_seconds = 3600) const {
    const Key key = make_key();
    const Certificate certificate = make(key.get(), "Test master", valid_seconds);
    extend(certificate.get(), NID_subject_alt_name, names.c_str());
    sign(certificate.get());
    const std::unique_ptr<BIO, int (*)(BIO *)> text(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return {pem(certificate.get()), read(text.get())};
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY *)>;
  using Certificate = std::unique_ptr<X509, void (*)(X509 *)>;

  static Key make_key() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

  static Certificate make(EVP_PKEY *key, const char *name, long valid_seconds) {
    static long serial = 0;
    Certificate certificate(X509_new(), X509_free);
    X509_set_version(certificate.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -86400);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid_seconds);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char *>(name), -1, -1, 0);
    X509_set_pubkey(certificate.get(), key);
    return certificate;
  }

  static void extend(X509 *certificate, int nid, const char *value) {
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  void sign(X509 *certificate) const {
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate_.get()));
    if (X509_sign(certificate, key_.get(), EVP_sha256()) == 0) throw std::runtime_error("sign");
  }

  static std::string pem(X509 *certificate) {
    const std::unique_ptr<BIO, int (*)(BIO *)> text(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_X509(text.get(), certificate);
    return read(text.get());
  }

  static std::string read(BIO *text) {
    char *bytes = nullptr;
    const long size = BIO_get_mem_data(text, &bytes);
    return {bytes, static_cast<size_t>(size)};
  }

  Key key_;
  Certificate certificate_;
};

}  // namespace det::http
