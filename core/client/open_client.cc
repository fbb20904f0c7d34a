#include "core/client/embedded_client.h"
#include "core/client/rest_client.h"
#include "core/config/master_location.h"
#include "core/master/rest/connect.h"

namespace det::client {

std::unique_ptr<Client> open_client(const std::string &master) {
  const config::MasterLocation location = config::locate_master(master);
  if (location.embedded) return std::make_unique<EmbeddedClient>(location.store_directory());
  // What is not thrown has no reader here.
  auto quiet = std::make_shared<Logger>(LogLevel::error, [](LogLevel, const std::string &) {});
  return std::make_unique<RestClient>(master::connect_as_user(location.url, std::move(quiet)));
}

}  // namespace det::client
