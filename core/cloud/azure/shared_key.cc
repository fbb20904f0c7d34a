#include "core/cloud/azure/shared_key.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/base/base64.h"
#include "core/base/lower_case.h"
#include "core/base/percent.h"
#include "core/cloud/digest.h"

namespace det::cloud {

namespace {

using Sorted = std::map<std::string, std::string>;

std::string lines_of(const Sorted &values) {
  std::string lines;
  for (const auto &[name, value] : values) lines += name + ":" + value + "\n";
  return lines;
}

// "/account/path", then each parameter on a line of its own.
std::string resource_of(const std::string &url, const std::string &account) {
  const size_t host = url.find("://") + 3;
  const size_t path = std::min(url.find_first_of("/?", host), url.size());
  const size_t question = std::min(url.find('?', path), url.size());
  std::string resource = "/" + account + url.substr(path, question - path);
  Sorted parameters;
  for (std::string_view rest = std::string_view(url).substr(question); !rest.empty();) {
    rest.remove_prefix(1);  // '?' or '&'
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(pair.size());
    const size_t equals = std::min(pair.find('='), pair.size());
    if (pair.empty()) continue;
    parameters[lower_case(percent_decoded(pair.substr(0, equals)))] =
        percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
  }
  for (const auto &[name, value] : parameters) resource += "\n" + name + ":" + value;
  return resource;
}

}  // namespace

std::string shared_key_text(const http::HttpRequest &request, const std::string &account,
                            uint64_t size) {
  Sorted standard, own;
  for (const http::HttpHeader &header : request.headers) {
    const std::string name = lower_case(header.name);
    (name.starts_with("x-ms-") ? own : standard)[name] = header.value;
  }
  standard["content-length"] = size == 0 ? "" : std::to_string(size);
  std::string text = request.method + "\n";
  for (const char *name :
       {"content-encoding", "content-language", "content-length", "content-md5", "content-type",
        "date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"})
    text += standard[name] + "\n";
  return text + lines_of(own) + resource_of(request.url, account);
}

std::string shared_key_authorization(const http::HttpRequest &request, const std::string &account,
                                     const std::string &key) {
  const uint64_t size = request.source ? request.source->size() : request.body.size();
  return "SharedKey " + account + ":" +
         to_base64(hmac_sha256(key, shared_key_text(request, account, size)));
}

}  // namespace det::cloud
