// Memory for the kernels.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace flockwise {

// Memory that starts on a cache line, zeroed unless nobody will look before writing.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t count = 0, bool zeroed = true) {
    const size_t bytes = (count * sizeof(T) + 127) / 64 * 64;  // with room for reading one vector too far
    memory_.reset(static_cast<T*>(std::aligned_alloc(64, bytes)));
    if (!memory_) throw std::bad_alloc();
    if (zeroed) std::memset(static_cast<void*>(memory_.get()), 0, bytes);
  }
  operator T*() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> memory_;
};

}  // namespace flockwise
