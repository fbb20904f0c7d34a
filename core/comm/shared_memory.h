// Memory that several processes of one user on one machine share.
#pragma once

#include <cstddef>
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

}  // namespace det::comm
