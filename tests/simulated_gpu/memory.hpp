#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <string>
#include <vector>

#include "streams.hpp"

namespace simulated_gpu {

// Memory of a device has two addresses. LibTorch and the program see one that no access is allowed to, so the
// host dies where it touches it; the simulated kernels use the other. Page-locked memory of the host has two
// as well: while a copy is under way, its pages are closed for what would disturb it.
c10::DeviceAllocator& device_allocator();
c10::Allocator& pinned_allocator();

bool is_pinned(const void* address);
int device_of(const void* address);  // -1: not memory of a device
void* backing(const void* address);  // where kernels find it; the address itself if it is ordinary memory

struct Span {
  const char* begin;
  const char* end;
};
Span span_of(const at::Tensor& tensor);

// An operator uses this memory at this moment. Throws if what another stream does with it is not waited for.
// Under the lock of state(); `tensor` is for the message.
void use(const at::Tensor& tensor, Moment when, bool writes, const char* name);
void record_stream(const void* address, int stream);
void describe_block(const at::Tensor& tensor, const char* made_by);  // what a message will call its memory

void open_pinned_pages();  // the host has waited: what is done is no longer closed

// What a touched address is, for the message of a fault. Does not take the lock.
std::string about(const void* address);

}  // namespace simulated_gpu
