// What LibTorch asks a CUDA build about: the devices, page-locked memory, and random generators.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "generators.hpp"
#include "memory.hpp"
#include "operators.hpp"

namespace simulated_gpu {

namespace {

c10::Device cuda(int device) { return {c10::kCUDA, static_cast<c10::DeviceIndex>(device)}; }
c10::impl::VirtualGuardImpl guard() { return c10::impl::VirtualGuardImpl(c10::kCUDA); }

// Draws the numbers of the CPU's generator, so that a run can have the bits of one on the CPU.
class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(int device)
      : DeviceGenerator(device, at::make_generator<at::CPUGeneratorImpl>(c10::default_rng_seed_val)) {}
  DeviceGenerator(int device, at::Generator inner)
      : GeneratorImpl(cuda(device), c10::DispatchKeySet(c10::DispatchKey::CUDA)), inner_(std::move(inner)) {}

  void set_current_seed(std::uint64_t seed) override { inner_.set_current_seed(seed); }
  void set_offset(std::uint64_t offset) override { inner_.set_offset(offset); }
  std::uint64_t get_offset() const override { return inner_.get_offset(); }
  std::uint64_t current_seed() const override { return inner_.current_seed(); }
  std::uint64_t seed() override { return inner_.seed(); }
  void set_state(const c10::TensorImpl& state) override { inner_.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return inner_.unsafeGetGeneratorImpl()->get_state();
  }

  const at::Generator& inner() const { return inner_; }

 private:
  DeviceGenerator* clone_impl() const override {
    return new DeviceGenerator(device_.index(), inner_.clone());
  }
  at::Generator inner_;
};

// The class must have this name: it is the key under which LibTorch looks for it.
class CUDAHooks final : public at::CUDAHooksInterface {
 public:
  explicit CUDAHooks(const at::CUDAHooksArgs&) { take_kernels_of_cpu(); }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return devices() > 0; }
  bool hasCUDA() const override { return devices() > 0; }
  bool hasCUDART() const override { return devices() > 0; }
  long versionCUDART() const override { return 13000; }
  int getNumGPUs() const override { return devices(); }
  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(devices()); }
  c10::DeviceIndex current_device() const override { return guard().getDevice().index(); }
  c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { guard().setDevice(cuda(device)); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return guard().exchangeDevice(cuda(device)).index();
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? current_device() : exchangeDevice(device);
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  void init() const override {}
  void deviceSynchronize(c10::DeviceIndex device) const override { guard().synchronizeDevice(device); }
  bool isPinnedPtr(const void* address) const override { return is_pinned(address); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator(); }
  c10::Allocator* getCUDADeviceAllocator() const override { return &device_allocator(); }
  c10::Device getDeviceFromPtr(void* address) const override { return cuda(device_of(address)); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device < 0 ? current_device() : device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return new_generator(device < 0 ? current_device() : device);
  }
};

using at::CUDAHooksArgs;
using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
REGISTER_CUDA_HOOKS(CUDAHooks)

}  // namespace

const at::Generator& default_generator(int device) {
  static auto* const generators = [] {
    auto* const made = new std::array<at::Generator, most_devices>;
    for (int i = 0; i < most_devices; ++i) (*made)[static_cast<std::size_t>(i)] = new_generator(i);
    return made;
  }();
  return (*generators)[static_cast<std::size_t>(device)];
}

at::Generator new_generator(int device) { return at::make_generator<DeviceGenerator>(device); }

at::Generator drawn_from(const at::Generator& generator) {
  TORCH_CHECK(generator.device().is_cuda(), "Expected a 'cuda' device type for generator but found '",
              generator.device().type(), "'");
  return static_cast<const DeviceGenerator*>(generator.unsafeGetGeneratorImpl())->inner();
}

}  // namespace simulated_gpu
