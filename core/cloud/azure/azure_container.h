// A container of Azure Blob Storage: the names and URLs of its blobs, and requests to it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cloud/azure/azure_dialect.h"
#include "core/cloud/xml.h"

namespace det::cloud {

class AzureContainer {
 public:
  AzureContainer(AzureConfig config, http::HttpOptions http, RequestPolicy policy,
                 const std::shared_ptr<Logger> &logger);

  // Where the configuration says so and it may. Throws where there is no such container, or nobody
  // answers.
  void make();

  const AzureConfig &config() const { return config_; }
  std::string name_of(const std::string &key) const;  // "azure://container/folder/key"

  // `query` without '?'. Throws Code::invalid for a key that no blob can have.
  std::string url_of(const std::string &key, const std::string &query = "") const;
  std::string url(const std::string &query) const;

  http::HttpAnswer perform(Call call) { return requests_.perform(std::move(call)); }
  // An answer in XML. One that is damaged is asked for again.
  std::unique_ptr<XmlAnswer> ask(const std::string &tried, const std::string &url,
                                 const char *root);

  // A request for the content of a blob: never compressed, and with the key of the customer.
  http::HttpRequest content_request(const char *method, std::string url) const;
  // Adds what is to hold for a blob that is written.
  void add_properties(http::HttpRequest &request) const;
  // Removes blobs, at most batch_max; absent is fine.
  void remove(std::vector<std::string> keys);
  // As what the service is to read in our name.
  std::string readable_url_of(const std::string &key) const;

 private:
  bool is_there();
  std::optional<Refusal> refusal_of_removal(const http::HttpAnswer &answer,
                                            const std::string &key) const;
  void remove_one(const std::string &key);
  http::HttpRequest removal_of(const std::string &key) const;

  const AzureConfig config_;
  const std::string url_;
  const std::shared_ptr<AzureDialect> dialect_;
  const std::shared_ptr<Logger> logger_;
  Requests requests_;
};

}  // namespace det::cloud
