// Blobs in blocks: Azure's way of uploads in parts.
#include <map>

#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/percent.h"
#include "core/cloud/azure/azure_refusal.h"
#include "core/cloud/azure/azure_store.h"
#include "core/cloud/azure/block_id.h"
#include "core/cloud/digest.h"

namespace det::cloud {

namespace {

std::string block_list(const std::vector<StoredPart> &parts) {
  std::string text = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  // Latest: also those that a lost attempt has committed already.
  for (const StoredPart &part : parts) text += "<Latest>" + xml_escaped(part.version) + "</Latest>";
  return text + "</BlockList>";
}

}  // namespace

std::string AzureStore::begin_parts(const std::string &key) {
  container_->url_of(key);  // refuses what no blob can be called
  return make_upload_id(now_us() / 1'000'000);
}

StoredPart AzureStore::put_part(const std::string &key, const std::string &upload, int number,
                                const std::shared_ptr<ByteRange> &bytes) {
  const BlockId id{upload, number, md5(*bytes)};
  Call call{.tried = "storing part " + std::to_string(number) + " of '" + name_of(key) + "'",
            .request = container_->content_request(
                "PUT", container_->url_of(key, "comp=block&blockid=" + percent_encoded(id.text()))),
            .expected = {201}};
  call.request.source = bytes;
  call.request.headers.push_back({"Content-MD5", to_base64(id.md5)});
  if (!container_->config().encryption_scope.empty())
    call.request.headers.push_back(
        {"x-ms-encryption-scope", container_->config().encryption_scope});
  call.before_retry = [&, tried = call.tried](http::HttpRequest &) {
    require_unchanged(tried, *bytes, md5(*bytes) == id.md5);
  };
  container_->perform(std::move(call));
  return {number, bytes->size(), id.text(), to_base64(id.md5)};
}

std::vector<std::pair<std::string, uint64_t>> AzureStore::pending_blocks(const std::string &key) {
  std::vector<std::pair<std::string, uint64_t>> blocks;
  try {
    const auto answer = container_->ask(
        tried("listing the parts of", key),
        container_->url_of(key, "comp=blocklist&blocklisttype=uncommitted"), "BlockList");
    const pugi::xml_node list = answer->root().child("UncommittedBlocks");
    for (const pugi::xml_node block : list.children("Block"))
      blocks.emplace_back(answer->text(block, "Name"), answer->number(block, "Size"));
  } catch (const Error &error) {
    if (error.code != Code::not_found) throw;
  }
  return blocks;
}

std::vector<StoredPart> AzureStore::list_parts(const std::string &key, const std::string &upload) {
  std::map<int, StoredPart> parts;
  for (const auto &[text, size] : pending_blocks(key))
    if (const auto id = BlockId::from(text); id && id->upload == upload)
      parts[id->number] = {id->number, size, text, to_base64(id->md5)};
  std::vector<StoredPart> listed;
  for (auto &[number, part] : parts) listed.push_back(std::move(part));
  return listed;
}

void AzureStore::complete_parts(const std::string &key, const std::string &,
                                const std::vector<StoredPart> &parts) {
  Call call{
      .tried = tried("completing", key),
      .request = container_->content_request("PUT", container_->url_of(key, "comp=blocklist")),
      .expected = {201}};
  call.request.body = block_list(parts);
  call.request.headers.push_back({"Content-Type", "application/xml"});
  call.request.headers.push_back({"Content-MD5", to_base64(md5(call.request.body))});
  container_->add_properties(call.request);
  container_->perform(std::move(call));
}

// Only a commit drops blocks: of none of them, where the blob has no content yet. That empty blob
// goes at once. Where it has some, its blocks are left to the service, which drops them in a week.
void AzureStore::abort_parts(const std::string &key, const std::string &upload) {
  if (list_parts(key, upload).empty()) return;
  Call call{
      .tried = tried("aborting the upload of", key),
      .request = container_->content_request("PUT", container_->url_of(key, "comp=blocklist")),
      .expected = {201, 409, 412}};
  call.request.body = block_list({});
  call.request.headers.push_back({"Content-Type", "application/xml"});
  call.request.headers.push_back({"If-None-Match", "*"});
  call.check = [](const http::HttpAnswer &answer) -> std::optional<Refusal> {
    const Refusal refusal = azure_refusal(answer);
    if (answer.status == 201 || refusal.code == Code::conflict) return std::nullopt;
    return refusal;
  };
  const http::HttpAnswer answer = container_->perform(std::move(call));
  if (answer.status != 201) return;
  call = {.tried = tried("aborting the upload of", key),
          .request = {.method = "DELETE",
                      .url = container_->url_of(key),
                      .headers = {{"If-Match", answer.header("etag")}}},
          .expected = {202, 404, 412}};
  container_->perform(std::move(call));
}

std::string AzureStore::checksum_of(ByteRange &bytes) { return to_base64(md5(bytes)); }

}  // namespace det::cloud
