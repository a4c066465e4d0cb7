#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runner {

enum class Reduction { sum, min, max };

// A collective that is under way. Waiting for nothing costs nothing: with one process there is nothing to do.
class Work {
 public:
  struct Pending {
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };

  Work() = default;
  explicit Work(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}

  // Returns when the result is there; throws RankError where another rank failed or did not answer in time.
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

// The processes ("ranks") that train together, and what they can do together. Every rank calls the same
// collectives in the same order; `what` says in error messages what was being exchanged ("gradients").
// The base class is the world of a single process: complete, and free of tensors copied and operators run.
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

  // In place; dense tensors. `begin_` returns at once: the tensors must live, unchanged, until wait().
  void all_reduce(const torch::Tensor& tensor, Reduction reduction, std::string_view what) {
    begin_all_reduce(tensor, reduction, what).wait();
  }
  virtual Work begin_all_reduce(const torch::Tensor&, Reduction, std::string_view) { return {}; }

  // `all` is the ranks' parts one after the other: size() times as many elements as `part`, contiguous.
  // `part` may be this rank's place in `all`, and with one rank both may be the same tensor.
  void all_gather(const torch::Tensor& all, const torch::Tensor& part, std::string_view what) {
    begin_all_gather(all, part, what).wait();
  }
  virtual Work begin_all_gather(const torch::Tensor& all, const torch::Tensor& part, std::string_view what);

  // The sum over the ranks of `all`, of which each rank gets its own part.
  void reduce_scatter(const torch::Tensor& part, const torch::Tensor& all, std::string_view what) {
    begin_reduce_scatter(part, all, what).wait();
  }
  virtual Work begin_reduce_scatter(const torch::Tensor& part, const torch::Tensor& all,
                                    std::string_view what);

  // The sum over the ranks, for one of them; what the tensor holds on the others is not specified.
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

  // Some of the ranks, this one among them, as a world of their own for collectives; send() and what stands
  // on it need the whole world. Each of them calls it with the same list. It must not outlive this world.
  virtual std::unique_ptr<World> group(const std::vector<int>& /*ranks*/) {
    return std::make_unique<World>();
  }

  // The rank's tensor of each rank; they may differ in their first dimension only. gather_rows joins them.
  std::vector<torch::Tensor> gather(const torch::Tensor& tensor, std::string_view what);
  torch::Tensor gather_rows(const torch::Tensor& tensor, std::string_view what);

  // Texts, or any bytes, of any length. The first returns what `from` has; the second what each rank has.
  std::string broadcast_text(const std::string& text, int from, std::string_view what);
  // From one rank to another; the others need not take part. Returns it there.
  std::string pass_text(const std::string& text, int from, int to, std::string_view what);
  std::vector<std::string> gather_texts(const std::string& text, std::string_view what);

  // Of numbers that every rank has, exact for integers below 2^53. No tensor is made where nobody else is.
  double all_reduce(double value, Reduction reduction, std::string_view what);
  bool any(bool value, std::string_view what) { return all_reduce(value ? 1 : 0, Reduction::max, what) > 0; }

  // What must be done by one rank, or one on each machine, before the others continue: a download, a prepared
  // cache. However long it takes: the others wait for as long as that rank is alive. Where it throws, all do.
  enum class Once { in_the_world, on_each_machine };
  virtual void once(Once, std::string_view /*what*/, const std::function<void()>& work) { work(); }

  // Returns when every rank has come here, however long that takes: for work whose time nobody knows, where a
  // barrier would run into its timeout. Throws RankError as soon as one of them fails or has died.
  virtual void wait_for_all(std::string_view /*what*/) {}

  // Where this rank is, for those that wait for it in vain.
  virtual void reached(std::int64_t /*step*/) {}
  // This rank gives up: the others learn why, instead of that it is gone.
  virtual void failed(const std::exception&) {}
  // Where rank 0 has made the run's folder: whoever started the ranks puts their output there.
  virtual void tell_folder(const std::string&) {}

 protected:
  const Place place_;
};

// Another rank failed, or did not answer in time. The message names it, where it can be known.
struct RankError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace runner
