#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/percent.h"
#include "core/cloud/gcs/gcs_objects.h"
#include "core/cloud/gcs/google_answer.h"

namespace det::cloud {

namespace {

const Json &items_in(const Json &page, const char *member) {
  static const Json none = Json::array();
  const auto found = page.find(member);
  if (found == page.end()) return none;
  if (!found->is_array())
    throw Error(Code::corrupt, std::string("the answer is damaged: its ") + member + " are none");
  return *found;
}

std::vector<GcsObject> objects_in(const Json &page) {
  std::vector<GcsObject> objects;
  for (const Json &item : items_in(page, "items")) objects.push_back(GcsObject::from_json(item));
  return objects;
}

}  // namespace

// `token` says which page, and then which is next: empty before the first and after the last.
void GcsObjects::list_page(Query query, std::string &token,
                           const std::function<void(const Json &)> &look) {
  std::string prefix;
  for (const auto &[name, value] : query)
    if (name == std::string_view("prefix")) prefix = value;
  query.push_back(
      {"fields", std::string("nextPageToken,prefixes,items(") + GcsObject::fields + ")"});
  if (!token.empty()) query.push_back({"pageToken", token});
  const Json page =
      ask("listing '" + name_of(prefix) + "'",
          {.url = url("/storage/v1/b/" + percent_encoded(config_.bucket) + "/o", query)}, look);
  const auto next = page.find("nextPageToken");
  token = next != page.end() && next->is_string() ? next->get<std::string>() : "";
}

void GcsObjects::list(const std::string &prefix,
                      const std::function<void(const GcsObject &)> &each) {
  std::string token;
  do {
    std::vector<GcsObject> objects;
    list_page({{"prefix", prefix}, {"maxResults", "1000"}}, token,
              [&](const Json &page) { objects = objects_in(page); });
    for (const GcsObject &object : objects) each(object);
  } while (!token.empty());
}

std::optional<GcsObject> GcsObjects::first_of(const std::string &prefix) {
  std::string token;
  do {  // a page may be empty though others follow
    std::vector<GcsObject> objects;
    list_page({{"prefix", prefix}, {"maxResults", "1"}}, token,
              [&](const Json &page) { objects = objects_in(page); });
    if (!objects.empty()) return objects.front();
  } while (!token.empty());
  return std::nullopt;
}

void GcsObjects::list_folders(const std::string &prefix,
                              const std::function<void(const std::string &)> &each) {
  std::string token;
  do {
    std::vector<std::string> folders;
    list_page({{"prefix", prefix}, {"delimiter", "/"}, {"maxResults", "1000"}}, token,
              [&](const Json &page) {
                folders.clear();
                for (const Json &folder : items_in(page, "prefixes")) {
                  if (!folder.is_string() || folder.get<std::string>().size() <= prefix.size())
                    throw Error(Code::corrupt, "the answer is damaged: its prefixes are none");
                  folders.push_back(folder.get<std::string>().substr(prefix.size()));
                }
              });
    for (std::string &folder : folders) {
      folder.pop_back();  // the '/'
      each(folder);
    }
  } while (!token.empty());
}

}  // namespace det::cloud
