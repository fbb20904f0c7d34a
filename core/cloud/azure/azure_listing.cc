// What an Azure container holds: its blobs, and those that have not been committed yet.
#include <algorithm>

#include "core/base/percent.h"
#include "core/cloud/azure/azure_store.h"
#include "core/cloud/azure/block_id.h"
#include "core/http/date.h"

namespace det::cloud {

namespace {

// What XML cannot say comes percent-encoded.
std::string name_in(const XmlAnswer &answer, pugi::xml_node blob) {
  std::string name = answer.text(blob, "Name");
  return blob.child("Name").attribute("Encoded").as_bool() ? percent_decoded(name) : name;
}

}  // namespace

void AzureStore::list_blobs(const std::string &prefix, const char *include,
                            const std::function<void(const ObjectInfo &)> &each) {
  const std::string &folder = container_->config().address.folder;
  const std::string query =
      "restype=container&comp=list&prefix=" + percent_encoded(folder + prefix) + include;
  std::string marker;
  do {
    const auto page = container_->ask(
        tried("listing", prefix),
        container_->url(query + (marker.empty() ? "" : "&marker=" + percent_encoded(marker))),
        "EnumerationResults");
    for (const pugi::xml_node blob : page->root().child("Blobs").children("Blob")) {
      const pugi::xml_node properties = blob.child("Properties");
      // Accounts with a hierarchical namespace list directories, which are no blobs.
      if (properties.child("ResourceType").text().get() == std::string_view("directory")) continue;
      ObjectInfo found;
      found.key = name_in(*page, blob).substr(folder.size());
      found.size = page->number(properties, "Content-Length");
      found.version = properties.child("Etag").text().get();
      std::erase(found.version, '"');
      const std::string modified = properties.child("Last-Modified").text().get();
      found.modified_ms = http::parse_date(modified).value_or(0) * 1000;
      each(found);
    }
    marker = page->root().child("NextMarker").text().get();
  } while (!marker.empty());
}

void AzureStore::list(const std::string &prefix,
                      const std::function<void(const ObjectInfo &)> &each) {
  list_blobs(prefix, "", each);
}

// A blob without committed content is listed as one that is empty.
std::vector<PendingUpload> AzureStore::list_uploads(const std::string &prefix) {
  std::vector<std::string> empty;
  list_blobs(prefix, "&include=uncommittedblobs", [&](const ObjectInfo &found) {
    if (found.size == 0 && !found.key.ends_with('/')) empty.push_back(found.key);
  });
  std::vector<PendingUpload> pending;
  for (const std::string &key : empty) {
    std::vector<std::string> seen;
    for (const auto &[text, size] : pending_blocks(key)) {
      const auto id = BlockId::from(text);
      if (!id || std::ranges::find(seen, id->upload) != seen.end()) continue;
      seen.push_back(id->upload);
      pending.push_back({key, id->upload, upload_begun_ms(id->upload)});
    }
  }
  return pending;
}

}  // namespace det::cloud
