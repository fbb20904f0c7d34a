// What proves to Azure Storage who asks.
#pragma once

#include <memory>
#include <string>

#include "core/base/log/log.h"
#include "core/cloud/azure/azure_config.h"
#include "core/cloud/requests.h"
#include "core/http/message.h"

namespace det::cloud {

// Safe from any thread.
class AzureCredentials {
 public:
  virtual ~AzureCredentials() = default;

  // To a request that has all its headers. May block for a token.
  virtual void sign(http::HttpRequest &request, RequestScope *scope) = 0;
  // Whether there may be others once these are taken no more; drop() has them looked for.
  virtual bool can_drop() const { return false; }
  virtual void drop() {}
  // To the URL of a blob that the service is to read for us.
  virtual std::string readable(const std::string &url) { return url; }
  // Whether there are none at all.
  virtual bool is_anonymous() const { return false; }
  // What to do where they are refused, as the end of a sentence.
  virtual std::string remedy() = 0;
};

// Throws Code::invalid where they must not be sent to that endpoint.
std::unique_ptr<AzureCredentials> azure_credentials(const AzureConfig &config,
                                                    const http::HttpOptions &http,
                                                    std::shared_ptr<Logger> logger);

// What is signed: the method, the headers that matter, account and path, and the query. `size` is
// that of the body.
std::string shared_key_text(const http::HttpRequest &request, const std::string &account,
                            uint64_t size);

// The Authorization header of a request that has all its others. `key`: bytes, a secret.
std::string shared_key_authorization(const http::HttpRequest &request, const std::string &account,
                                     const std::string &key);

}  // namespace det::cloud
