// The one way to write a master's address, so that addresses can be compared and used as keys.
#pragma once

#include <string>

namespace det::config {

// http(s)://host:port[/path], the host in lower case, no '/' at the end. Without a scheme it is
// http, on port 8080; else the scheme's port is the default. `origin` names `text` in errors
// ("the variable DET_MASTER"). Throws Code::invalid, quoting neither a password nor a query.
std::string canonical_master_url(const std::string &text, const std::string &origin);

}  // namespace det::config
