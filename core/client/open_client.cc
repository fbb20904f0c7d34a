#include <utility>

#include "core/client/embedded_client.h"
#include "core/client/rest_client.h"
#include "core/config/master_location.h"
#include "core/master/rest/connect.h"

namespace det::client {

std::unique_ptr<Client> open_client(const std::string &master, const master::UserAccess &access,
                                    std::shared_ptr<Logger> logger) {
  const config::MasterLocation location = config::locate_master(master);
  if (!logger)
    logger = std::make_shared<Logger>(LogLevel::error, [](LogLevel, const std::string &) {});
  if (location.embedded)
    return std::make_unique<EmbeddedClient>(location.store_directory(), std::move(logger));
  return std::make_unique<RestClient>(master::connect_as_user(location.url, logger, access),
                                      logger);
}

}  // namespace det::client
