#include "core/trial/ranks/broadcast_arrays.h"

#include <algorithm>
#include <exception>
#include <string>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/comm/agreement.h"
#include "core/comm/numbers.h"
#include "core/tensors/cuda_memory.h"

namespace det::trial {

namespace {

using tensors::CudaDriver;
using tensors::Tensor;

constexpr comm::Call broadcasting{comm::ApiCall::trial_broadcast};

// Bytes that travel together: small arrays are not worth a message each, and large ones not as much
// memory again.
constexpr uint64_t largest_piece = uint64_t{16} << 20U;

std::string description(const std::vector<Tensor> &arrays) {
  Json list = Json::array();
  for (const Tensor &array : arrays)
    list.push_back({array.name, std::string(tensors::name_of(array.dtype)) + " " +
                                    tensors::text_of(array.whole)});
  return pack(list);
}

// What a rank has that differs from the chief.
std::string first_difference(const Json &chief, const Json &other, const std::string &rank) {
  const auto name = [](const Json &array) { return tensors::quoted_name(array[0]); };
  const auto look = [](const Json &array) { return array[1].get<std::string>(); };
  for (size_t i = 0; i < std::min(chief.size(), other.size()); ++i) {
    const Json &one = chief[i], &two = other[i];
    if (one[0] != two[0])
      return "array " + std::to_string(i) + " is " + name(one) + " on rank 0 and " + name(two) +
             " on " + rank;
    if (one[1] != two[1])
      return "array " + name(one) + " is " + look(one) + " on rank 0 and " + look(two) + " on " +
             rank;
  }
  return "rank 0 gave " + std::to_string(chief.size()) + " arrays and " + rank + " " +
         std::to_string(other.size());
}

[[noreturn]] void refuse_difference(const std::vector<std::string> &descriptions) {
  size_t rank = 1;
  while (rank + 1 < descriptions.size() && descriptions[rank] == descriptions[0]) ++rank;
  const std::string name = "rank " + std::to_string(rank);
  throw Error(Code::conflict, "broadcasting arrays: " +
                                  first_difference(unpack(descriptions[0], "the arrays of rank 0"),
                                                   unpack(descriptions[rank], "its arrays"), name) +
                                  "; all ranks must give the same, in the same order");
}

class ArrayBroadcast {
 public:
  explicit ArrayBroadcast(comm::Communicator &communicator) : communicator_(communicator) {}

  void agree(const std::function<std::vector<Tensor>()> &given) {
    std::string own;
    const std::vector<std::string> digests = comm::all_agree(communicator_, broadcasting, [&] {
      for (Tensor &array : arrays_ = given()) check_array(array);
      own = description(arrays_);
      std::string digest;
      comm::append_number(digest, checksum64(own.data(), own.size()));
      return digest;
    });
    if (std::ranges::count(digests, digests.front()) != std::ssize(digests))
      refuse_difference(comm::all_agree(communicator_, broadcasting, [&] { return own; }));
  }

  void move() {
    if (communicator_.ranks().size == 1) return;
    uint64_t total = 0;
    for (const Tensor &array : arrays_) total += array.bytes();
    for (uint64_t begin = 0; begin < total; begin += largest_piece) {
      const uint64_t end = std::min(total, begin + largest_piece);
      if (communicator_.is_chief()) send(begin, end);
      else receive(begin, end);
    }
    comm::all_agree(communicator_, broadcasting, [&]() -> std::string {
      if (failure_) std::rethrow_exception(failure_);
      return "";
    });
  }

 private:
  void check_array(const Tensor &array) {
    tensors::check(array);
    if (!array.is_whole())
      throw Error(Code::invalid, "broadcasting arrays: " + tensors::quoted_name(array.name) +
                                     " is a part of an array; give whole arrays");
    contexts_.push_back(cuda_.context_of(array));
  }

  // Calls visit(array's context, its bytes from there, their number, where they lie in the piece).
  template <class Visit>
  void for_each_run(uint64_t begin, uint64_t end, const Visit &visit) {
    uint64_t start = 0;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const uint64_t bytes = arrays_[i].bytes();
      const uint64_t from = std::max(begin, start), to = std::min(end, start + bytes);
      if (from < to) visit(contexts_[i], arrays_[i].data + (from - start), to - from, from - begin);
      start += bytes;
    }
  }

  void send(uint64_t begin, uint64_t end) {
    try {
      piece_.resize(end - begin);
      for_each_run(begin, end,
                   [&](CudaDriver::Context context, const char *data, size_t size, size_t at) {
                     cuda_.copy_from(context, data, &piece_[at], size);
                   });
    } catch (const std::exception &) {
      // The null message: why comes next.
      communicator_.broadcast(std::nullopt, broadcasting);
      comm::chief_decides(communicator_, broadcasting, []() -> std::string { throw; });
    }
    give_back(communicator_.broadcast(piece_, broadcasting));
  }

  void receive(uint64_t begin, uint64_t end) {
    comm::Message piece = communicator_.broadcast(std::nullopt, broadcasting);
    if (!piece) comm::chief_decides(communicator_, broadcasting, {});  // throws
    try {
      if (!failure_)
        for_each_run(begin, end,
                     [&](CudaDriver::Context context, char *data, size_t size, size_t at) {
                       cuda_.copy_to(context, data, &(*piece)[at], size);
                     });
    } catch (const std::exception &) {
      failure_ = std::current_exception();
    }
    give_back(std::move(piece));
  }

  void give_back(comm::Message piece) {
    const std::shared_ptr<comm::SpareBuffers> spare = communicator_.spare_buffers();
    if (spare && piece) spare->give(std::move(*piece));
  }

  comm::Communicator &communicator_;
  tensors::CudaMemory cuda_;
  std::vector<Tensor> arrays_;
  std::vector<CudaDriver::Context> contexts_;  // of each
  std::string piece_;                          // that the chief sends
  std::exception_ptr failure_;                 // of this rank, that the others do not know
};

}  // namespace

void broadcast_arrays(comm::Communicator &communicator,
                      const std::function<std::vector<Tensor>()> &given) {
  ArrayBroadcast broadcast(communicator);
  broadcast.agree(given);
  broadcast.move();
}

}  // namespace det::trial
