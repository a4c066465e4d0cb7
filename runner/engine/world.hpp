#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runner {

enum class Reduction { sum, min, max };

// A collective operation that has been started. With one process it is empty, and wait() returns at once.
class Work {
 public:
  struct Pending {
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };

  Work() = default;
  explicit Work(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}

  // Returns when the result is available. Throws RankError if another rank failed or did not answer in time.
  void wait() {
    if (pending_) std::exchange(pending_, nullptr)->wait();
  }

 private:
  std::unique_ptr<Pending> pending_;
};

// This process among those that train together.
struct Place {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among those on the same machine
  std::string host = {};
  std::string machine = {};  // the same text for all ranks of a machine, and for no others
};

// The processes ("ranks") that train together, and their collective operations. Every rank calls the same
// collectives in the same order; `what` names in error messages what was being exchanged ("gradients").
// The base class is the world of a single process: it copies no tensor and runs no operator.
//
//   torch::Tensor count = ..;
//   world.all_reduce(count, Reduction::sum, "the number of examples");
class World {
 public:
  explicit World(Place place = {}) : place_(std::move(place)) {}
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  int local_rank() const { return place_.local_rank; }
  int local_size() const { return place_.local_size; }
  const std::string& host() const { return place_.host; }
  bool is_main() const { return rank() == 0; }  // the rank that logs, writes and shows
  bool alone() const { return size() == 1; }

  // In place, for dense tensors. `begin_` returns at once: the tensors must exist, unchanged, until wait().
  void all_reduce(const torch::Tensor& tensor, Reduction reduction, std::string_view what) {
    begin_all_reduce(tensor, reduction, what).wait();
  }
  virtual Work begin_all_reduce(const torch::Tensor&, Reduction, std::string_view) { return {}; }

  // `all` holds the parts of the ranks one after the other: size() times as many elements as `part`,
  // contiguous. `part` may be the slice of this rank in `all`; with one rank both may be the same tensor.
  void all_gather(const torch::Tensor& all, const torch::Tensor& part, std::string_view what) {
    begin_all_gather(all, part, what).wait();
  }
  virtual Work begin_all_gather(const torch::Tensor& all, const torch::Tensor& part, std::string_view what);

  // Sums `all` over the ranks; each rank gets its own part of the sum.
  void reduce_scatter(const torch::Tensor& part, const torch::Tensor& all, std::string_view what) {
    begin_reduce_scatter(part, all, what).wait();
  }
  virtual Work begin_reduce_scatter(const torch::Tensor& part, const torch::Tensor& all,
                                    std::string_view what);

  // The sum over the ranks, on rank `to`; the contents of the tensor on other ranks are not specified.
  virtual Work begin_reduce(const torch::Tensor&, int /*to*/, std::string_view) { return {}; }

  void broadcast(const torch::Tensor& tensor, int from, std::string_view what) {
    begin_broadcast(tensor, from, what).wait();
  }
  virtual Work begin_broadcast(const torch::Tensor&, int /*from*/, std::string_view) { return {}; }
  virtual void send(const torch::Tensor& tensor, int to, std::string_view what);
  virtual void receive(const torch::Tensor& tensor, int from, std::string_view what);
  // Both at once, so that two ranks can exchange without waiting for each other.
  virtual void exchange(const torch::Tensor& out, const torch::Tensor& in, int peer, std::string_view what);
  virtual void barrier(std::string_view) {}

  // A group of ranks that includes this one, for collectives; send(), receive() and functions that use them
  // need the whole world. Every rank of the group calls it with the same list. It must not outlive this
  // world.
  virtual std::unique_ptr<World> group(const std::vector<int>& /*ranks*/) {
    return std::make_unique<World>();
  }

  // The tensors of all ranks, which may differ only in their first dimension. gather_rows concatenates them.
  std::vector<torch::Tensor> gather(const torch::Tensor& tensor, std::string_view what);
  torch::Tensor gather_rows(const torch::Tensor& tensor, std::string_view what);

  // Texts, or any bytes, of any length. broadcast_text returns the text of `from`.
  std::string broadcast_text(const std::string& text, int from, std::string_view what);
  std::vector<std::string> gather_texts(const std::string& text, std::string_view what);

  // Reduces one number of each rank, exactly for integers below 2^53. A single process creates no tensor.
  double all_reduce(double value, Reduction reduction, std::string_view what);
  bool any(bool value, std::string_view what) { return all_reduce(value ? 1 : 0, Reduction::max, what) > 0; }

  // Work that one rank, or one rank on each machine, does before the others continue, such as a download. The
  // others wait without a timeout as long as that rank is alive. If it throws, all ranks throw.
  enum class Once { in_the_world, on_each_machine };
  virtual void once(Once, std::string_view /*what*/, const std::function<void()>& work) { work(); }

  // Like barrier(), but without a timeout: for work that may take any time. Throws RankError as soon as a
  // rank fails or dies.
  virtual void wait_for_all(std::string_view /*what*/) {}

  // Reports the step of this rank, which error messages of other ranks mention if they wait for it too long.
  virtual void reached(std::int64_t /*step*/) {}
  // Why another rank will not do what this one waits for: it has failed, ended or died, or was not seen for
  // the timeout. Nothing if it is fine. Any thread may ask.
  virtual std::optional<std::string> trouble_with(int /*rank*/) { return {}; }
  // Tells the other ranks why this rank fails.
  virtual void failed(const std::exception&) {}
  // Tells the launcher the path of the run folder; it writes the output of the ranks there.
  virtual void tell_folder(const std::string&) {}

 protected:
  const Place place_;
};

// Another rank failed, or did not answer in time. The message names the rank if it is known.
struct RankError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace runner
