// A FIFO by which processes wake each other. What is written to it says nothing.
#pragma once

#include <filesystem>

#include "core/base/file.h"

namespace det {

// False where the file system has none, as of SMB, FAT and some in user space. One that is there
// already will do. Throws where there is another reason.
bool make_fifo(const std::filesystem::path &path);

// For who waits at it: readable when it was woken. None where it is not there, and errno says why.
KnownFd open_fifo(const std::filesystem::path &path);

// Takes out what woke it; nothing of a host's file that has got its number.
void drain_fifo(const KnownFd &fifo);

// Wakes who waits at it. False where nobody does, and errno says why.
bool wake_fifo(const std::filesystem::path &path);

}  // namespace det
