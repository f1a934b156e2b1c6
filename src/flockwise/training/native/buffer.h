// Memory for the kernels.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace flockwise {

// Memory that starts on a cache line, zeroed unless nobody will look before writing.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t count = 0, bool zeroed = true) {
    const size_t bytes = (count * sizeof(T) + 127) / 64 * 64;  // with room for reading one vector too far
    memory_.reset(static_cast<T*>(bytes < LARGE_PAGE ? std::aligned_alloc(64, bytes) : in_large_pages(bytes)));
    if (!memory_) throw std::bad_alloc();
    if (zeroed) std::memset(static_cast<void*>(memory_.get()), 0, bytes);
  }
  operator T*() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };

  static constexpr size_t LARGE_PAGE = 2 << 20;

  // A model goes through all its memory in every step: in small pages the processor would look up each of them anew.
  static void* in_large_pages(size_t bytes) {
    bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void* memory = std::aligned_alloc(LARGE_PAGE, bytes);
#if defined(MADV_HUGEPAGE)
    if (memory) madvise(memory, bytes, MADV_HUGEPAGE);  // an offer that may be declined
#endif
    return memory;
  }

  std::unique_ptr<T, Free> memory_;
};

}  // namespace flockwise
