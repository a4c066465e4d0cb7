#pragma once

#include <c10/core/Stream.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

namespace simulated_gpu {

// Operators are carried out at once, in the order of the host. What a real GPU does later is kept as time:
// every stream counts its operators and knows, of every other stream, up to which operator it has waited for
// it. An operator that uses memory which another stream wrote, and has not waited for, is an error that names
// both: with a real GPU the result would depend on luck, here it never does.
constexpr int streams_of_a_device = 33;  // the default one, and a pool as CUDA has it
constexpr int most_devices = 4;
using Times = std::array<std::uint64_t, std::size_t{streams_of_a_device} * most_devices>;

// Which stream, and which of its operators; 0 is before the first.
struct Moment {
  int stream = 0;
  std::uint64_t time = 0;
};

int devices();  // SIMULATED_GPU_DEVICES, default 4

int number_of(c10::Stream stream);
std::string stream_name(int number);  // "stream 2 of cuda:1"
int current_stream(int device);       // of this thread

// All of the state below is for callers that hold this lock.
std::mutex& state();
Moment launch(int stream);                 // the next operator of a stream
bool knows(int stream, const Moment& of);  // whether the stream waits for it before its next operator
bool host_knows(const Moment& of);
Times times_of(int stream);  // what an event records
void wait_for(int stream, const Times& times);
// The host waits for a stream. Counted under this name; forbidden while a graph is captured.
void host_waits(int stream, const char* why);

}  // namespace simulated_gpu
