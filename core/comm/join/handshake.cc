#include "core/comm/join/handshake.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/crypto/secure_hash.h"
#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/comm/numbers.h"

namespace det::comm {

namespace {

constexpr std::string_view handshake_magic = "detcomm3";
constexpr std::string_view refusal_magic = "detcomm!";
constexpr std::string_view directions_magic = "detcomm>";

std::string random_bytes(size_t size) {
  std::string bytes(size, '\0');
  if (getrandom(bytes.data(), size, 0) != static_cast<ssize_t>(size))
    OsFailure{errno}.raise("getting random bytes");
  return bytes;
}

std::string proof(const std::string &secret, std::string_view side, std::string_view transcript) {
  std::string text(side);
  text += transcript;
  const Sha256 code = hmac_sha256(secret, text);
  static_assert(sizeof code == proof_size);
  return {code.begin(), code.end()};
}

template <size_t count>
std::array<int, count> take_numbers(std::string_view bytes) {
  std::array<int, count> numbers;
  for (size_t i = 0; i < count; ++i) numbers[i] = take_number<int32_t>(&bytes[i * sizeof(int32_t)]);
  return numbers;
}

std::string make_notice(std::string_view magic, int number, const std::string &text) {
  const std::string part = text.substr(0, longest_notice);
  std::string bytes(magic);
  append_number(bytes, int32_t{number});
  append_number(bytes, static_cast<int32_t>(part.size()));
  bytes.resize(welcome_size);
  return bytes + part;
}

std::string transcript_of(std::string_view challenge, std::string_view hello) {
  std::string transcript(challenge);
  transcript += hello.substr(0, hello_size - proof_size);
  return transcript;
}

}  // namespace

std::string job_secret() {
  std::string secret = environment_variable("DET_DISTRIBUTED_SECRET");
  if (secret.empty()) secret = environment_variable("DET_SESSION_TOKEN");
  return secret;
}

std::string make_challenge() { return std::string(handshake_magic) + random_bytes(nonce_size); }

std::string Applicant::answer(std::string_view challenge) {
  if (challenge.size() != challenge_size || !challenge.starts_with(handshake_magic))
    throw Error(Code::access,
                "joining a job: what listens at the chief's address is no detcore of this release; "
                "set another port (pub_port or INTER_TRAIN_PROCESS_COMM_PORT_1)");
  std::string hello = std::string(handshake_magic) + random_bytes(nonce_size);
  const Ranks &mine = hello_.ranks;
  for (const int32_t number : {mine.rank, mine.size, mine.local_rank, mine.local_size,
                               mine.cross_rank, mine.cross_size, hello_.door})
    append_number(hello, number);
  transcript_ = std::string(challenge) + hello;
  return hello + proof(secret_, "hello", transcript_);
}

Welcome Applicant::judge(std::string_view welcome) const {
  constexpr size_t proof_at = welcome_size - proof_size;
  const bool proven = welcome.size() == welcome_size && welcome.starts_with(handshake_magic) &&
                      is_same_secret(welcome.substr(proof_at),
                                     proof(secret_, welcome.substr(0, proof_at), transcript_));
  if (!proven)
    throw Error(Code::access,
                "joining a job: what listens at the chief's address does not know the secret of "
                "this job; give all ranks the same DET_DISTRIBUTED_SECRET");
  const auto [rank, number] = take_numbers<2>(welcome.substr(handshake_magic.size()));
  return {rank, number};
}

bool is_of_this_release(std::string_view part_of_hello) {
  const size_t size = std::min(part_of_hello.size(), handshake_magic.size());
  return part_of_hello.substr(0, size) == handshake_magic.substr(0, size);
}

std::optional<Hello> read_hello(std::string_view hello) {
  if (hello.size() != hello_size || !is_of_this_release(hello)) return std::nullopt;
  const auto n = take_numbers<7>(hello.substr(handshake_magic.size() + nonce_size));
  return Hello{{n[0], n[1], n[2], n[3], n[4], n[5]}, n[6]};
}

std::optional<Hello> verify_hello(std::string_view challenge, std::string_view hello,
                                  const std::string &secret) {
  std::optional<Hello> said = read_hello(hello);
  if (said && !is_same_secret(hello.substr(hello_size - proof_size),
                              proof(secret, "hello", transcript_of(challenge, hello))))
    said.reset();
  return said;
}

std::string make_welcome(std::string_view challenge, std::string_view hello,
                         const std::string &secret, const Welcome &welcome) {
  std::string bytes(handshake_magic);
  append_number(bytes, int32_t{welcome.rank});
  append_number(bytes, int32_t{welcome.number});
  return bytes + proof(secret, bytes, transcript_of(challenge, hello));
}

std::optional<Notice> read_notice(std::string_view reply) {
  const bool is_refusal = reply.starts_with(refusal_magic);
  if (reply.size() != welcome_size || !(is_refusal || reply.starts_with(directions_magic)))
    return std::nullopt;
  const auto [number, size] = take_numbers<2>(reply.substr(refusal_magic.size()));
  return Notice{is_refusal, number, std::min(static_cast<size_t>(size), longest_notice)};
}

std::string make_refusal(const Error &why) {
  return make_notice(refusal_magic, static_cast<int>(why.code), why.what());
}

std::string make_directions(int number, const std::string &endpoint) {
  return make_notice(directions_magic, number, endpoint);
}

}  // namespace det::comm
