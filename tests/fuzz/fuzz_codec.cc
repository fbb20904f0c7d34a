// Any bytes as a request or an answer: understood, or refused with the code for it; and what is
// understood reads back the same once it is written.
#include <cstdlib>

#include "tests/codec/calls.h"

namespace {

using namespace det;

// Method, path, query and body in lines; an answer has a number in place of the method.
std::string_view cut_line(std::string_view &rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

template <class Call>
void take_request(const codec::WireRequest &request, codec::WireVersion version) {
  try {
    const auto call = codec::read_request<Call>(request, version);
    if (!call) return;
    const codec::WireRequest first = codec::write_request(*call, version);
    const auto again = codec::read_request<Call>(first, version);
    if (!again || codec::write_request(*again, version).body != first.body) std::abort();
  } catch (const Error &e) {
    if (e.code != Code::invalid && e.code != Code::unsupported) std::abort();
  }
}

template <class Call>
void take_response(const codec::WireResponse &answer, codec::WireVersion version) {
  try {
    const std::string first =
        codec::write_response<Call>(codec::read_response<Call>(answer, version), version);
    if (codec::write_response<Call>(codec::read_response<Call>({200, first}, version), version) !=
        first)
      std::abort();
  } catch (const Error &e) {
    // In the midst of parts there may be a refusal.
    if (codec::comes_in_parts<typename Call::Response> && answer.status == 200 &&
        e.http_status != 0)
      return;
    if (e.http_status != (answer.status == 200 ? 0 : answer.status)) std::abort();
    if (answer.status == 200 && e.code != Code::corrupt) std::abort();
    if (e.code == Code::internal || std::string_view(e.what()).size() > 480) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  const std::string method(cut_line(rest));
  const std::string path(cut_line(rest));
  const std::string query(cut_line(rest));
  const std::string body(rest);
  codec::wire_version(method);
  const codec::WireVersion version =
      codec::all_versions[size % 3];  // one at a time: exceptions take their time
  codec::any_call([&]<class Call>() {
    take_request<Call>({method, path, query, body}, version);
    // Also where no path fits.
    const char *own = version < Call::route.since && Call::route.old_path != nullptr
                          ? Call::route.old_path
                          : Call::route.path;
    take_request<Call>({Call::route.method, own, query, body}, version);
    take_response<Call>({200, body}, version);
    return false;
  });
  take_response<codec::StartRun>({std::atoi(method.c_str()) % 1000, body}, version);
  return 0;
}
