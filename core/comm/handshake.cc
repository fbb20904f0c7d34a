#include "core/comm/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>

#include "core/base/environment.h"
#include "core/base/error.h"

namespace det {

namespace {

constexpr std::string_view handshake_magic = "detcomm1";

std::string random_bytes(size_t size) {
  std::string bytes(size, '\0');
  if (getrandom(bytes.data(), size, 0) != static_cast<ssize_t>(size))
    OsFailure{errno}.raise("getting random bytes");
  return bytes;
}

std::string proof(const std::string &secret, std::string_view side, std::string_view transcript) {
  std::string text(side);
  text += transcript;
  std::string code(proof_size, '\0');
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char *>(text.data()), text.size(),
           reinterpret_cast<unsigned char *>(code.data()), &size) == nullptr ||
      size != proof_size)
    throw Error(Code::internal, "joining a job: OpenSSL computes no HMAC-SHA256");
  return code;
}

bool is_proof(std::string_view given, const std::string &expected) {
  return given.size() == expected.size() &&
         CRYPTO_memcmp(given.data(), expected.data(), expected.size()) == 0;
}

void put_number(std::string &bytes, int value) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>(static_cast<uint32_t>(value) >> shift);
}

int take_number(std::string_view bytes) {
  uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return static_cast<int>(value);
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
  hello += static_cast<char>(hello_.channel);
  put_number(hello, hello_.rank);
  put_number(hello, hello_.size);
  transcript_ = std::string(challenge) + hello;
  return hello + proof(secret_, "hello", transcript_);
}

void Applicant::judge(std::string_view welcome) const {
  const bool proven =
      welcome.size() == welcome_size && welcome.starts_with(handshake_magic) &&
      is_proof(welcome.substr(handshake_magic.size()), proof(secret_, "welcome", transcript_));
  if (!proven)
    throw Error(Code::access,
                "joining a job: the chief did not accept this process, or is not the chief of this "
                "job; give all ranks the same DET_DISTRIBUTED_SECRET and the same numbers");
}

std::optional<Hello> verify_hello(std::string_view challenge, std::string_view hello,
                                  const std::string &secret) {
  if (hello.size() != hello_size || !hello.starts_with(handshake_magic)) return std::nullopt;
  if (!is_proof(hello.substr(hello_size - proof_size),
                proof(secret, "hello", transcript_of(challenge, hello))))
    return std::nullopt;
  const std::string_view facts = hello.substr(handshake_magic.size() + nonce_size);
  const auto channel = static_cast<unsigned char>(facts[0]);
  if (channel > static_cast<unsigned char>(Channel::local)) return std::nullopt;
  return Hello{static_cast<Channel>(channel), take_number(facts.substr(1)),
               take_number(facts.substr(5))};
}

std::string make_welcome(std::string_view challenge, std::string_view hello,
                         const std::string &secret) {
  return std::string(handshake_magic) + proof(secret, "welcome", transcript_of(challenge, hello));
}

}  // namespace det
