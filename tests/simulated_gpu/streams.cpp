#include "streams.hpp"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Backtrace.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "counts.hpp"
#include "graph.hpp"
#include "memory.hpp"

namespace simulated_gpu {

namespace {

struct Event {
  Times seen = {};
  bool asked = false;  // the first query is answered as if the work were still under way
  std::chrono::steady_clock::time_point when = {};
};

std::array<Times, std::tuple_size_v<Times>> seen = {};  // by stream
Times host = {};
thread_local int device_now = 0;
thread_local std::array<int, most_devices> stream_now = {};  // within its device

void join(Times& times, const Times& others) {
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::max(times[i], others[i]);
}

void host_learns(const Times& times, const char* why) {
  refuse_while_capturing(why);
  ++counts().host_waits;
  ++counts().waits_by_name[why];
  join(host, times);
  open_pinned_pages();
  if (static const bool show = std::getenv("SIMULATED_GPU_SHOW_WAITS") != nullptr; show)
    std::fprintf(stderr, "simulated GPU: the host waits: %s\n%s\n", why, c10::get_backtrace(1, 24).c_str());
}

int index_or_current(c10::Device device) { return device.has_index() ? device.index() : device_now; }

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(devices()); }
  c10::Device getDevice() const override { return {c10::kCUDA, static_cast<c10::DeviceIndex>(device_now)}; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() < devices(), "CUDA error: invalid device ordinal");
    uncheckedSetDevice(device);
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) device_now = device.index();
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    const auto before = getDevice();
    setDevice(device);
    return before;
  }

  c10::Stream getStream(c10::Device device) const override {
    return stream(index_or_current(device), stream_now[static_cast<std::size_t>(index_or_current(device))]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream(index_or_current(device), 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    const std::lock_guard lock(state());
    static std::array<int, most_devices> given = {};
    const int index = index_or_current(device);
    return stream(index, 1 + given[static_cast<std::size_t>(index)]++ % (streams_of_a_device - 1));
  }
  c10::Stream getNewStream(c10::Device device, int) const override {
    return getStreamFromGlobalPool(device, false);
  }
  c10::Stream exchangeStream(c10::Stream to) const override {
    auto& now = stream_now[static_cast<std::size_t>(to.device_index())];
    const auto before = stream(to.device_index(), now);
    now = static_cast<int>(to.id());
    return before;
  }
  bool queryStream(const c10::Stream& of) const override {
    const std::lock_guard lock(state());
    const auto number = static_cast<std::size_t>(number_of(of));
    return host[number] >= seen[number][number];
  }
  void synchronizeStream(const c10::Stream& of) const override {
    const std::lock_guard lock(state());
    host_waits(number_of(of), "synchronize a stream");
  }
  bool isStreamCapturing(const c10::Stream&) const override { return is_capturing(); }
  void synchronizeDevice(c10::DeviceIndex) const override {
    const std::lock_guard lock(state());
    Times all = {};
    for (const Times& times : seen) join(all, times);
    host_learns(all, "synchronize the device");
  }

  void record(void** event, const c10::Stream& on, c10::DeviceIndex device, c10::EventFlag) const override {
    TORCH_CHECK(device < 0 || device == on.device_index(), "CUDA error: an event of device ", int{device},
                " cannot be recorded on a stream of device ", int{on.device_index()});
    const std::lock_guard lock(state());
    if (!*event) *event = new Event;
    auto& recorded = *static_cast<Event*>(*event);
    launch(number_of(on));
    recorded = {.seen = seen[static_cast<std::size_t>(number_of(on))],
                .when = std::chrono::steady_clock::now()};
  }
  void block(void* event, const c10::Stream& on) const override {
    if (!event) return;
    const std::lock_guard lock(state());
    join(seen[static_cast<std::size_t>(number_of(on))], static_cast<Event*>(event)->seen);
  }
  bool queryEvent(void* event) const override {
    if (!event) return true;
    const std::lock_guard lock(state());
    auto& asked = *static_cast<Event*>(event);
    if (!std::exchange(asked.asked, true)) return false;
    join(host, asked.seen);
    open_pinned_pages();
    return true;
  }
  void synchronizeEvent(void* event) const override {
    if (!event) return;
    const std::lock_guard lock(state());
    host_learns(static_cast<Event*>(event)->seen, "synchronize an event");
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
  double elapsedTime(void* from, void* to, c10::DeviceIndex) const override {
    const auto passed = static_cast<Event*>(to)->when - static_cast<Event*>(from)->when;
    return std::chrono::duration<double, std::milli>(passed).count();
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& on) const override {
    const std::lock_guard lock(state());
    record_stream(data.get(), number_of(on));
  }

 private:
  static c10::Stream stream(int device, int id) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)),
                       id);
  }
};

C10_REGISTER_GUARD_IMPL(CUDA, Guard)

}  // namespace

int devices() {
  static const int count = [] {
    const char* const wanted = std::getenv("SIMULATED_GPU_DEVICES");
    const int all = wanted ? std::clamp(std::atoi(wanted), 0, most_devices) : most_devices;
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) return all;
    const std::string list = visible;
    return std::min(all, list.empty() ? 0 : 1 + static_cast<int>(std::ranges::count(list, ',')));
  }();
  return count;
}

int number_of(c10::Stream stream) {
  return stream.device_index() * streams_of_a_device + static_cast<int>(stream.id());
}

std::string stream_name(int number) {
  const int id = number % streams_of_a_device;
  return (id == 0 ? "the default stream" : "stream " + std::to_string(id)) +
         " of cuda:" + std::to_string(number / streams_of_a_device);
}

int current_stream(int device) {
  return device * streams_of_a_device + stream_now[static_cast<std::size_t>(device)];
}

std::mutex& state() {
  static auto* const mutex = new std::mutex;  // used until the process ends
  return *mutex;
}

Moment launch(int stream) {
  auto& own = seen[static_cast<std::size_t>(stream)];
  join(own, host);
  return {stream, ++own[static_cast<std::size_t>(stream)]};
}

bool host_knows(const Moment& of) { return of.time <= host[static_cast<std::size_t>(of.stream)]; }

bool knows(int stream, const Moment& of) {
  return of.time <= seen[static_cast<std::size_t>(stream)][static_cast<std::size_t>(of.stream)] ||
         host_knows(of);
}

Times times_of(int stream) { return seen[static_cast<std::size_t>(stream)]; }

void wait_for(int stream, const Times& times) { join(seen[static_cast<std::size_t>(stream)], times); }

void host_waits(int stream, const char* why) { host_learns(seen[static_cast<std::size_t>(stream)], why); }

}  // namespace simulated_gpu
