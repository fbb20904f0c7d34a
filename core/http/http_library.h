// The functions of libcurl, and of OpenSSL under it, that are used. A program that asks nobody over
// HTTP uses none of them, and they come with 30 libraries more.
#pragma once

#include <curl/curl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace det::http {

// The members of these have values where HttpLibrary is made, and only there are the two linked.
struct Libcurl {
  decltype(&curl_easy_cleanup) easy_cleanup = curl_easy_cleanup;
  decltype(&curl_easy_getinfo) easy_getinfo = curl_easy_getinfo;
  decltype(&curl_easy_init) easy_init = curl_easy_init;
  decltype(&curl_easy_setopt) easy_setopt = curl_easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror = curl_easy_strerror;
  decltype(&curl_free) free = curl_free;
  decltype(&curl_getdate) getdate = curl_getdate;
  decltype(&curl_global_init) global_init = curl_global_init;
  decltype(&curl_multi_add_handle) multi_add_handle = curl_multi_add_handle;
  decltype(&curl_multi_cleanup) multi_cleanup = curl_multi_cleanup;
  decltype(&curl_multi_info_read) multi_info_read = curl_multi_info_read;
  decltype(&curl_multi_init) multi_init = curl_multi_init;
  decltype(&curl_multi_perform) multi_perform = curl_multi_perform;
  decltype(&curl_multi_poll) multi_poll = curl_multi_poll;
  decltype(&curl_multi_remove_handle) multi_remove_handle = curl_multi_remove_handle;
  decltype(&curl_multi_setopt) multi_setopt = curl_multi_setopt;
  decltype(&curl_multi_strerror) multi_strerror = curl_multi_strerror;
  decltype(&curl_multi_wakeup) multi_wakeup = curl_multi_wakeup;
  decltype(&curl_slist_append) slist_append = curl_slist_append;
  decltype(&curl_slist_free_all) slist_free_all = curl_slist_free_all;
  decltype(&curl_url) url = curl_url;
  decltype(&curl_url_cleanup) url_cleanup = curl_url_cleanup;
  decltype(&curl_url_get) url_get = curl_url_get;
  decltype(&curl_url_set) url_set = curl_url_set;
  decltype(&curl_version_info) version_info = curl_version_info;
};

struct Openssl {
  decltype(&::BIO_free) BIO_free = ::BIO_free;
  decltype(&::BIO_new_mem_buf) BIO_new_mem_buf = ::BIO_new_mem_buf;
  decltype(&::ERR_clear_error) ERR_clear_error = ::ERR_clear_error;
  decltype(&::ERR_pop_to_mark) ERR_pop_to_mark = ::ERR_pop_to_mark;
  decltype(&::ERR_set_mark) ERR_set_mark = ::ERR_set_mark;
  decltype(&::PEM_read_bio_X509) PEM_read_bio_X509 = ::PEM_read_bio_X509;
  decltype(&::SSL_CTX_get0_param) SSL_CTX_get0_param = ::SSL_CTX_get0_param;
  decltype(&::SSL_CTX_get_cert_store) SSL_CTX_get_cert_store = ::SSL_CTX_get_cert_store;
  decltype(&::SSL_CTX_set_cert_verify_callback) SSL_CTX_set_cert_verify_callback =
      ::SSL_CTX_set_cert_verify_callback;
  decltype(&::X509_STORE_add_cert) X509_STORE_add_cert = ::X509_STORE_add_cert;
  decltype(&::X509_VERIFY_PARAM_set1_host) X509_VERIFY_PARAM_set1_host =
      ::X509_VERIFY_PARAM_set1_host;
  decltype(&::X509_VERIFY_PARAM_set1_ip_asc) X509_VERIFY_PARAM_set1_ip_asc =
      ::X509_VERIFY_PARAM_set1_ip_asc;
  decltype(&::X509_VERIFY_PARAM_set_hostflags) X509_VERIFY_PARAM_set_hostflags =
      ::X509_VERIFY_PARAM_set_hostflags;
  decltype(&::X509_free) X509_free = ::X509_free;
  decltype(&::X509_verify_cert) X509_verify_cert = ::X509_verify_cert;
};

struct HttpLibrary {
  const char *build;
  Libcurl curl{};
  Openssl openssl{};
};

// Opens libdetcore-http with the first call (http_library_opened.cc), or is linked with libcurl
// (http_library_linked.cc). Throws Code::unsupported where that library is missing.
const HttpLibrary &http_library();

inline const Libcurl &curl() { return http_library().curl; }
inline const Openssl &openssl() { return http_library().openssl; }

}  // namespace det::http
