// The host of a URL, and whether what goes there stays on this machine.
#pragma once

#include <string>
#include <string_view>

namespace det::cloud {

// Without the port and the brackets of an IPv6 number. Empty: the URL names none.
std::string host_of(std::string_view url);

// A name that merely begins like a number of this machine could be anywhere.
bool is_loopback(const std::string &host);

}  // namespace det::cloud
