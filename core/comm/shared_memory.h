// Memory that several processes of one user on one machine share, and the memory of one that the
// others may read, where the kernel lets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace det::comm {

class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(SharedMemory &&other) noexcept;
  SharedMemory &operator=(SharedMemory &&other) noexcept;

  // Zeros, under a name that nobody can guess. Both are empty where that cannot be.
  static SharedMemory create(size_t size) noexcept;
  static SharedMemory open(const std::string &name, size_t size) noexcept;

  explicit operator bool() const { return data_ != nullptr; }
  char *data() const { return data_; }
  const std::string &name() const { return name_; }
  // Nobody else can open it from now on.
  void hide() noexcept;

 private:
  SharedMemory(char *data, size_t size, std::string name)
      : data_(data), size_(size), name_(std::move(name)) {}

  char *data_ = nullptr;
  size_t size_ = 0;
  std::string name_;
  bool has_name_ = false;
};

// Some bytes in some process.
struct Bulk {
  int64_t process = 0;
  uint64_t address = 0;
};

// Throws Code::unavailable for what cannot be read.
void read_memory(const Bulk &from, char *to, size_t size);

// An invitation to try it, for other processes; `known` is what they find there, and stays where it
// is.
std::string invite_to_read(const std::string &known);
// Whether it worked, and was no other process.
bool can_read(const std::string &invitation, const std::string &known) noexcept;

}  // namespace det::comm
